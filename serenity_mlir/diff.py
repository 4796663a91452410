"""What changed between two reports, and whether it is worse than may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from serenity_mlir.report import PeakOp, Report
from serenity_mlir.sizes import parse_size, size_text

# Figures that every report has, unless something has no constant size.
_CONSTANT = ("live peak", "arena", "slab", "RAM")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a figure may grow and still be no regression.

    Attributes:
        share: Of what it was before: 0.02 for 2%.
        size: Bytes. A figure that is no size, as modelled latency is, may not grow then.
    """

    share: float = 0.0
    size: int = 0

    def __str__(self) -> str:
        return size_text(self.size) if self.size else f"{100 * self.share:g}%"

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """From `2%`, `512`, `512B`, `4KiB` or `1MiB`.

        Raises:
            ValueError: It is none of these.
        """
        share = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
        if share is not None:
            return cls(share=float(share[1]) / 100)
        try:
            return cls(size=parse_size(text))
        except ValueError as error:
            raise ValueError(
                f"{text!r} is neither a share such as 2% nor a size such as 512 or 4KiB"
            ) from error

    def holds(self, before: float, after: float, *, is_size: bool) -> bool:
        """Whether a figure that was `before` may be `after`."""
        return after <= before + max(self.share * before, self.size if is_size else 0)


@dataclass(frozen=True, slots=True)
class Change:
    """A figure of two reports.

    Attributes:
        name: What it is of.
        before: In the old report; None where it has no constant size, or where it has none.
        after: In the new one; likewise.
        is_size: Bytes; otherwise a multiple, or a count.
        held: Whether growth counts as a regression.
        regressed: Whether it grew beyond the tolerance, or lost its constant size.
    """

    name: str
    before: float | None
    after: float | None
    is_size: bool = True
    held: bool = True
    regressed: bool = False

    @property
    def words(self) -> str:
        """The change in one line."""
        return f"{self.name} grew from {self._text(self.before)} to {self._text(self.after)}"

    def _text(self, value: float | None) -> str:
        if value is None:
            return "no constant size"
        return size_text(int(value)) if self.is_size else figure_text(value)


def figure_text(value: float) -> str:
    """A count, or a size under a heading that says bytes, or a multiple."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}x"


@dataclass(frozen=True, slots=True)
class Difference:
    """Two reports side by side.

    Attributes:
        changes: Every figure that either has, changed or not.
        peaks: The op at the peak, before and after.
        notes: Why the two may not be comparable.
    """

    changes: tuple[Change, ...]
    peaks: tuple[PeakOp | None, PeakOp | None]
    notes: tuple[str, ...]

    @property
    def regressions(self) -> list[Change]:
        """What grew beyond the tolerance."""
        return [item for item in self.changes if item.regressed]


def difference(old: Report, new: Report, tolerance: Tolerance) -> Difference:
    """What changed from `old` to `new`.

    Memory, weights, code, stack and modelled latency are held to the tolerance; inputs, outputs and
    the single regions are shown, their sum is in what is held.
    """
    changes = []
    for name, before, after, is_size, held in _pairs(old, new):
        if before is None and after is None:
            continue
        if before is None or after is None:  # what only one of them was asked for is no regression
            regressed = after is None and name in _CONSTANT
        else:
            regressed = held and not tolerance.holds(before, after, is_size=is_size)
        changes.append(Change(name, before, after, is_size, held, regressed))
    return Difference(tuple(changes), (old.peak, new.peak), tuple(_notes(old, new)))


_Pair = tuple[str, float | None, float | None, bool, bool]


def _pairs(old: Report, new: Report) -> Iterator[_Pair]:
    """Name, old and new figure, whether it is a size, and whether it is held to the tolerance."""
    a, b = old.memory, new.memory
    yield "live peak", a.final.peak, b.final.peak, True, True
    yield "arena", a.final.arena, b.final.arena, True, True
    yield "slab", a.slab, b.slab, True, True
    yield "inputs", a.inputs, b.inputs, True, False
    yield "outputs", a.outputs, b.outputs, True, False
    yield "RAM", a.ram, b.ram, True, True
    yield "weights", old.constants, new.constants, True, True
    yield "code", a.code, b.code, True, True
    yield "flash", a.flash, b.flash, True, True
    yield "stack", a.stack, b.stack, True, True
    slow, slower = (1.0 if item.price is None else item.price.latency for item in (old, new))
    yield "latency modelled", slow, slower, False, True
    yield "ops", old.schedule.ops, new.schedule.ops, False, False
    regions = [
        {item.name: item.final.peak for item in report.regions if item.role == "model"}
        for report in (old, new)
    ]
    for name in dict.fromkeys([*regions[0], *regions[1]]):
        yield f"live peak of {name}", regions[0].get(name), regions[1].get(name), True, False


def _notes(old: Report, new: Report) -> Iterator[str]:
    if old.model.sha256 != new.model.sha256:
        yield f"the models differ: {old.model.path}, {new.model.path}"
    for what, before, after in (
        ("targets", old.target, new.target),
        ("versions of IREE", old.iree_version, new.iree_version),
        ("owners of inputs and outputs", old.memory.io, new.memory.io),
    ):
        if before != after:
            yield f"the {what} differ: {before}, {after}"
