"""The report: the one place that every table, file and plot takes its figures from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from serenity_mlir.presented import Presented
from serenity_mlir.timeline import RegionTimeline

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from serenity_mlir.views.rows import Table

SCHEMA_VERSION = 1
OUT_OF_TIME = "the time limit came before it was tried; --rewrite-limit gives it more"
"""Why a rewrite was not taken where the search for the best set was cut short."""


class ModelInfo(msgspec.Struct, frozen=True):
    """The file that was compiled."""

    path: str
    sha256: str
    format: Literal["onnx", "mlir", "mlirbc"]


class Stock(msgspec.Struct, frozen=True):
    """Transient bytes that stock IREE plans under each partitioning favour."""

    max_concurrency: int | None
    min_peak_memory: int | None
    debug: int | None
    best: int | None


class Footprint(msgspec.Struct, frozen=True):
    """Bytes of one order: live at its peak, and of the arena that holds it."""

    peak: int | None
    arena: int | None


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """All sizes in bytes; None where something has no constant size.

    Attributes:
        file_order: Before scheduling, one op at a time; of the rewritten ops, where there are any.
        final: After everything that was asked for.
        lower_bound: No order needs less.
        optimal: Whether `final.arena` is proven to be the least.
        gap: How far it may be above, as a share of it.
        slab: What IREE allocates, read back from the compiled module.
        inputs: Caller-owned, no part of the slab.
        outputs: Caller-owned, no part of the slab.
        weights: Constants that are stored as data; see `Rom` for those in code.
        ram: slab + inputs + outputs; the whole arena where `io` is "arena".
        stock: With `--compare-stock`.
        code: Of a firmware library's object: functions, constants, tables.
        flash: Of a firmware library that is linked for its target, weights included; None where none was.
        stack: That a call of a firmware library takes at most, beside `ram`; None where not measured.
        io: "arena" where peaks, arenas and bound count inputs and outputs, each while it is needed.
    """

    file_order: Footprint
    final: Footprint
    lower_bound: int | None
    optimal: bool
    gap: float | None
    slab: int | None
    inputs: int | None
    outputs: int | None
    weights: int
    ram: int | None
    stock: Stock | None = None
    io: Literal["external", "arena"] = "external"
    code: int | None = None
    flash: int | None = None
    stack: int | None = None


class ScheduleInfo(msgspec.Struct, frozen=True):
    """How the order was found, over all regions of the model."""

    method: str
    ops: int
    states: int
    seconds: float
    segments: int


class RegionInfo(msgspec.Struct, frozen=True):
    """One execution region. `role` is model or initializer (runs once, at load)."""

    name: str
    role: str
    ops: int
    file_order: Footprint
    final: Footprint
    lower_bound: int | None
    optimal: bool
    method: str
    left_alone: str


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A configuration of IREE that `--search` tried: its flags, and the arena that they lead to.

    `fault` says why IREE could not compile it.
    """

    flags: list[str]
    arena: int | None
    taken: bool
    fault: str = ""


class Rewrite(msgspec.Struct, frozen=True):
    """A rewrite that was kept; `saved` bytes more would be needed without it alone, None where not tried."""

    pattern: str
    location: str
    saved: int | None


class Price(msgspec.Struct, frozen=True):
    """What rewrites cost beside memory, each before and after: MACs, ops in regions, bytes of weights.

    `latency` is modelled, as a multiple of that without rewrites.
    """

    macs: tuple[int, int]
    ops: tuple[int, int]
    weights: tuple[int, int]
    latency: float


class NotTaken(msgspec.Struct, frozen=True):
    """A place where a rewrite was considered and not taken, and why."""

    pattern: str
    location: str
    reason: str


class Reason(msgspec.Struct, frozen=True):
    """A choice that was made about a dispatch: a rewrite taken or not taken, and why."""

    pattern: str
    location: str
    taken: bool
    reason: str


class DispatchInfo(msgspec.Struct, frozen=True):
    """One dispatch of the compiled module, sizes in bytes; None where something has no constant size.

    Attributes:
        name: The function that runs.
        nodes: The model's nodes that it came from.
        fused: What it computes, in order, with the model's nodes; empty for a mere copy.
        sources: The dispatches that it reads results of, as positions in the list of all.
        read: The tensors that it reads, constants left out.
        constants: The constants that it reads.
        stored: The tensors that its results lie in, padding and other parts included.
        padding: How what it reads was padded: a padded "copy", the "interior" of a padded tensor that
            the producer wrote, on "read" where no padding is stored; empty for none.
        in_place: Whether a result overwrites an operand.
        why: What was chosen about it; empty where there was nothing to choose, or nothing was asked for.
    """

    name: str
    nodes: list[str]
    fused: list[str]
    sources: list[int]
    read: int | None
    constants: int | None
    stored: int | None
    padding: list[Literal["copy", "interior", "read"]]
    in_place: bool
    why: list[Reason]


class Grown(msgspec.Struct, frozen=True):
    """A constant of the compiled module that the model does not hold like that: bytes, and why."""

    name: str
    location: str
    size: int
    reason: str


class Rom(msgspec.Struct, frozen=True):
    """Bytes of constants of several elements, and which ones grew.

    Attributes:
        model: In the model's file.
        stored: In the compiled module, as data and in code.
        grown: What is stored otherwise than in the model, the largest first; only where `stored` is
            more than a twentieth above `model`.
        in_code: Of those stored, what lies in the code of dispatches: constants of up to 256 bytes each.
    """

    model: int
    stored: int
    grown: list[Grown]
    in_code: int = 0


class Verification(msgspec.Struct, frozen=True):
    """Compiled results against a reference, on random inputs of fixed seed."""

    reference: str
    max_abs: float
    max_rel: float
    passed: bool


class Seconds(msgspec.Struct, frozen=True):
    """Wall time by part; `iree` is IREE's own work, `import` reading the model."""

    import_: float = msgspec.field(name="import")
    schedule: float
    arena: float
    iree: float
    total: float


class PeakOp(msgspec.Struct, frozen=True):
    """The op at the peak, the model's nodes it came from, and what is live while it runs, in bytes."""

    op: str
    live: int
    buffers: list[tuple[str, int]]
    nodes: list[str] = []


class Transfers(msgspec.Struct, frozen=True):
    """Bytes between on-chip and off-chip memory, by direction."""

    in_: int = msgspec.field(name="in")
    out: int


class OffChip(msgspec.Struct, frozen=True):
    """Traffic that an on-chip memory smaller than the live peak costs, summed over the model's regions.

    The model is that of `serenity_mlir.traffic`: `before` in file order, `after` in the final one.
    """

    on_chip: int
    before: Transfers
    after: Transfers


class Report(msgspec.Struct, Presented, frozen=True, omit_defaults=True):
    """What `--report` and `--json` write.

    `timeline` is the course of memory in every region of constant sizes, in program order; files
    have it where `--timeline` asks for it. `as_written` is the arena in bytes of the model's own ops and
    IREE's dispatches, in the best order found for them; None where none was rewritten.
    """

    schema_version: int
    model: ModelInfo
    target: str
    iree_version: str
    memory: Memory
    schedule: ScheduleInfo
    regions: list[RegionInfo]
    rewrites: list[Rewrite]
    seconds: Seconds
    peak: PeakOp | None = None
    verify: Verification | None = None
    traffic: list[OffChip] = []
    warnings: list[str] = []
    search: list[Candidate] = []
    considered: list[NotTaken] = []
    price: Price | None = None
    timeline: tuple[RegionTimeline, ...] = ()
    dispatches: list[DispatchInfo] = []
    rom: Rom | None = None
    as_written: int | None = None

    @property
    def constants(self) -> int:
        """Bytes of constants, counted as those of the model are: those in code, too, where that is known."""
        return self.memory.weights if self.rom is None else self.rom.stored

    @property
    def untried(self) -> int:
        """How many rewrites the time limit of the choice kept from being tried."""
        return sum(item.reason == OUT_OF_TIME for item in self.considered)

    def to_json(self, *, timeline: bool = False) -> bytes:
        """The report as indented JSON; `timeline` only where asked for, as it grows with the model."""
        kept = self if timeline else msgspec.structs.replace(self, timeline=())
        return msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n"

    def shown_tables(self) -> Sequence[Table]:
        """See `Presented`; the steps around the peak only where it has a timeline."""
        from serenity_mlir.views.rows import tables  # noqa: PLC0415  (it imports this module)

        return tables(self)


def read_report(path: str | os.PathLike[str]) -> Report:
    """Read a report back.

    Raises:
        msgspec.ValidationError: It is no report of this version.
    """
    return msgspec.json.decode(Path(path).read_bytes(), type=Report)
