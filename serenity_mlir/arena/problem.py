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
        events = sorted(
            [(start, size) for start, size in zip(self.starts, self.sizes, strict=True)]
            + [(end, -size) for end, size in zip(self.ends, self.sizes, strict=True)]
        )
        live = most = 0
        for _, change in events:
            live += change
            most = max(most, live)
        return most

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """For each slice the others live at some same step; time and space grow with their number."""
        found: list[list[int]] = [[] for _ in self.sizes]
        live: list[int] = []
        for index in sorted(range(len(self)), key=lambda i: self.starts[i]):
            start = self.starts[index]
            live = [other for other in live if self.ends[other] > start]
            found[index].extend(live)
            for other in live:
                found[other].append(index)
            live.append(index)
        return tuple(map(tuple, found))


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
    return [
        (part, _problem([slices[index] for index in sorted(part)], alignment)) for part in map(sorted, parts)
    ]


def _problem(slices: Sequence[Slice], alignment: int) -> Problem:
    return Problem(
        tuple(item.start for item in slices),
        tuple(item.end for item in slices),
        tuple(-(-item.size // alignment) for item in slices),
    )
