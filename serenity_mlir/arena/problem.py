"""The packing problem that the planners work on: units of the alignment, one independent time segment."""

from __future__ import annotations

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
