"""The report of `serenity prune`: what tables, files and plots of a pruning take their figures from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from serenity_mlir.presented import Presented
from serenity_mlir.reform import family as families
from serenity_mlir.reform.budgets import KINDS, Kind
from serenity_mlir.report import ModelInfo, Verification

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from serenity_mlir.views.rows import Table

PRUNE_SCHEMA_VERSION = 1


class Figures(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a network is worth and what it takes.

    Attributes:
        score: 0 to 1, see `Calibration.meaning`.
        macs: Multiply-accumulates of one inference.
        memory: Bytes of filters and output maps (Eq. 2).
        energy: Millijoules by the profile (Eq. 3).
        latency: Milliseconds: `macs` at the profile's rate.
        ram: Bytes in the compiled model, where RAM or ROM is budgeted.
        rom: Bytes of its weights, likewise.
    """

    score: float
    macs: float
    memory: float
    energy: float
    latency: float
    ram: float | None = None
    rom: float | None = None


class Calibration(msgspec.Struct, frozen=True):
    """What scores are measured on.

    Attributes:
        samples: How many.
        measure: The name of the score.
        meaning: What it is.
        engine: What ran the networks.
    """

    samples: int
    measure: Literal["accuracy", "agreement", "fidelity"]
    meaning: str
    engine: str


class Contribution(msgspec.Struct, frozen=True):
    """How channels were ranked.

    Attributes:
        estimate: "gradient" (activation times ∂loss/∂activation), "ablation" (the change of the loss when
            a channel is masked), "magnitude", "random", "trained" (gates, by ADMM).
        samples: On how many samples.
        rounds: How often it was measured anew, on the network as masked by then.
        together: How many channels were ablated at once.
        layer_samples: On how many samples LI was measured.
    """

    estimate: Literal["gradient", "ablation", "magnitude", "random", "trained"]
    samples: int
    rounds: int
    together: int
    layer_samples: int = 0


class Missed(msgspec.Struct, frozen=True):
    """A budget that does not hold: its limit, and the least that was come to."""

    kind: Kind
    limit: float
    reached: float


class Stays(msgspec.Struct, frozen=True):
    """Channels that were masked and could not leave, or were never masked, and why."""

    tensor: str
    channels: int
    reason: str


class LayerCost(msgspec.Struct, frozen=True):
    """One layer before and after: node, and its multiply-accumulates and bytes."""

    node: str
    macs: tuple[float, float]
    memory: tuple[float, float]


class GroupInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Channels that leave together.

    Attributes:
        sources: The layers that make them, by their results.
        size: How many there are.
        kept: How many are left.
        shares: Shares that were masked to measure LI.
        drops: The score lost at each.
        priorities: PI of those masked, in the order in which they were.
    """

    sources: list[str]
    size: int
    kept: int
    shares: list[float] = []
    drops: list[float] = []
    priorities: list[float] = []


class Point(msgspec.Struct, frozen=True):
    """The masked network on the way: channels masked so far, channels kept of each group, figures."""

    masked: int
    kept: list[int]
    figures: Figures


class Round(msgspec.Struct, frozen=True):
    """One round of ADMM.

    Attributes:
        loss: Mean cross-entropy of its F-step.
        gap: ‖F - Z‖ after it.
        gates: Mean |F| of each group.
        kept: Channels of each group that Z keeps.
    """

    loss: float
    gap: float
    gates: list[float]
    kept: list[int]


class Variant(msgspec.Struct, frozen=True, omit_defaults=True):
    """One pruned network.

    Attributes:
        budgets: Their limits, in the units of `Figures`.
        figures: As measured on the pruned network itself, RAM and ROM on the compiled one.
        missed: Budgets that do not hold.
        groups: What it keeps.
        layers: What they cost, those that are left unpruned too.
        stays: What could not leave.
        proof: The pruned network beside the masked one, op by op, on calibration data.
        name: Of its function, where several variants are one artefact.
    """

    budgets: dict[Kind, float]
    figures: Figures
    missed: list[Missed]
    groups: list[GroupInfo]
    layers: list[LayerCost]
    stays: list[Stays]
    proof: Verification
    name: str = ""


class FamilyInfo(msgspec.Struct, frozen=True):
    """Several variants in one artefact.

    Attributes:
        weights: Bytes of constants: of the largest variant compiled alone, of the artefact.
        code: Bytes of machine code, likewise.
        slice_copies: Dispatches that do nothing but copy parts of shared constants, in all variants.
        copied: Bytes that they store.
    """

    weights: tuple[int, int]
    code: tuple[int, int]
    slice_copies: int
    copied: int


class PruneReport(msgspec.Struct, Presented, frozen=True, omit_defaults=True):
    """What `serenity prune --report` writes.

    Attributes:
        profile: Its name.
        method: How channels were chosen.
        target: What RAM and ROM were compiled for; empty where neither is budgeted.
        unpruned: The network as it came.
        variants: From the largest to the smallest.
        path: From the unpruned network to the smallest variant.
        seconds: Of everything.
        family: What all variants take together, where they are one artefact.
        rounds: Of ADMM, where gates were trained.
    """

    schema_version: int
    model: ModelInfo
    profile: str
    method: str
    target: str
    calibration: Calibration
    contribution: Contribution
    unpruned: Figures
    variants: list[Variant]
    path: list[Point]
    seconds: float
    family: FamilyInfo | None = None
    rounds: list[Round] = []
    warnings: list[str] = []

    def to_json(self) -> bytes:
        """The report as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def table(self) -> list[families.Variant]:
        """Its variants for `family.pick`, the largest first."""
        return [
            families.Variant(
                item.name,
                {kind: value for kind in KINDS if (value := getattr(item.figures, kind)) is not None},
                item.figures.score,
            )
            for item in self.variants
        ]

    def shown_tables(self) -> Sequence[Table]:
        """See `Presented`."""
        from serenity_mlir.views.pruning_rows import pruning_tables  # noqa: PLC0415  (only where it is shown)

        return pruning_tables(self)


def read_prune_report(path: str | os.PathLike[str]) -> PruneReport:
    """Read a report back.

    Raises:
        msgspec.ValidationError: It is no report of this version.
    """
    return msgspec.json.decode(Path(path).read_bytes(), type=PruneReport)
