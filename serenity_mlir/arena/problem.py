"""The packing problem that the planners work on: units of the alignment, one independent time segment."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from serenity_mlir.liveness import Slice


@dataclass(frozen=True)
class Problem:
    """Slices that must share one arena, all live and none empty.

    Attributes:
        starts: First step at which each slice is live.
        ends: First step at which it no longer is.
        sizes: Its size in units of the alignment, rounded up; positive.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def peak(self) -> int:
        """The most units live at once: a lower bound on every arena."""
        return live_peak(self.starts, self.ends, self.sizes)

    @cached_property
    def pairs(self) -> int:
        """How many neighbours all slices have together: what `neighbours` costs in time and memory."""
        starts, ends = sorted(self.starts), sorted(self.ends)
        ranges = zip(self.starts, self.ends, strict=True)
        return sum(bisect_left(starts, end) - bisect_right(ends, start) - 1 for start, end in ranges)

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """For each slice the others that are live at some same step."""
        return overlaps(self.starts, self.ends)


def live_peak(starts: Sequence[int], ends: Sequence[int], sizes: Sequence[int]) -> int:
    """The largest sum of sizes live at one step, of half-open ranges."""
    events = sorted(
        [*zip(starts, sizes, strict=True), *((end, -size) for end, size in zip(ends, sizes, strict=True))]
    )
    live = most = 0
    for _, change in events:
        live += change
        most = max(most, live)
    return most


def overlaps(starts: Sequence[int], ends: Sequence[int]) -> list[list[int]]:
    """For each half-open range the indices of the others that meet it; costs as much as it returns."""
    found: list[list[int]] = [[] for _ in starts]
    live: list[int] = []
    for index in sorted(range(len(starts)), key=starts.__getitem__):
        start = starts[index]
        live = [other for other in live if ends[other] > start]
        found[index].extend(live)
        for other in live:
            found[other].append(index)
        live.append(index)
    return found


@dataclass(frozen=True)
class Sections:
    """A problem's time axis cut down to the steps that matter: those at which a largest set is live.

    Every other step's live slices are a subset of some section's, so offsets that are right in
    all sections are right at all steps.

    Attributes:
        first: First section in which each slice is live.
        last: Section after the last one.
        live: Slices live in each section.
        totals: Their sizes, summed.
        crossings: Slices live in each section that are also live in the next.
    """

    first: tuple[int, ...]
    last: tuple[int, ...]
    live: tuple[tuple[int, ...], ...]
    totals: tuple[int, ...]
    crossings: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem) -> Sections:
        """The sections of `problem`: one ends at each step where a slice ends after another began."""
        starts = [(start, 1, index) for index, start in enumerate(problem.starts)]
        ends = [(end, 0, index) for index, end in enumerate(problem.ends)]
        first, last = [0] * len(problem), [0] * len(problem)
        count, grown = 0, False
        for _, begins, index in sorted(starts + ends):
            if not begins and grown:
                count += 1
            grown = bool(begins)
            (first if begins else last)[index] = count
        live: list[list[int]] = [[] for _ in range(count)]
        for index in range(len(problem)):
            for section in range(first[index], last[index]):
                live[section].append(index)
        return cls(
            tuple(first),
            tuple(last),
            tuple(map(tuple, live)),
            tuple(sum(problem.sizes[index] for index in members) for members in live),
            tuple(
                sum(last[index] > section + 1 for index in members) for section, members in enumerate(live)
            ),
        )


def segments(slices: Sequence[Slice], alignment: int) -> list[tuple[list[int], Problem]]:
    """Cut `slices` wherever none is live across; each part can be packed by itself.

    Slices that are never live or have no bytes are in no part.

    Returns:
        Each part as the indices of its slices and the problem that they make, in time order.
    """
    occupying = [index for index, item in enumerate(slices) if item.size > 0 and item.start < item.end]
    occupying.sort(key=lambda index: (slices[index].start, index))
    parts: list[list[int]] = []
    reach = 0
    for index in occupying:
        if not parts or slices[index].start >= reach:
            parts.append([])
            reach = slices[index].end
        parts[-1].append(index)
        reach = max(reach, slices[index].end)
    parts = [sorted(part) for part in parts]
    return [(part, _problem([slices[index] for index in part], alignment)) for part in parts]


def _problem(slices: Sequence[Slice], alignment: int) -> Problem:
    return Problem(
        tuple(item.start for item in slices),
        tuple(item.end for item in slices),
        tuple(-(-item.size // alignment) for item in slices),
    )
