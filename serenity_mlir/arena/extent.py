"""What a plan really takes: the end of its last slice, which no alignment rounds up.

`plan` rounds sizes up, so that arenas can lie behind one another. Where an arena stands alone, only
offsets have to be aligned, and what counts is the extent: the largest sum of an offset and a size.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from serenity_mlir.arena.driver import affordable, plan
from serenity_mlir.arena.first_fit import place
from serenity_mlir.arena.problem import Problem
from serenity_mlir.liveness import Slice

_TRIES = 50
"""How many slices are tried as the last of the arena, and how often the last one goes to its bottom."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Offsets by extent.

    Attributes:
        offsets: Bytes, one a slice, multiples of the alignment.
        extent: Bytes up to the end of the last slice.
        lower_bound: No aligned offsets have a smaller extent.
        seconds: Wall time spent.
    """

    offsets: tuple[int, ...]
    extent: int
    lower_bound: int
    seconds: float

    @property
    def optimal(self) -> bool:
        """Whether the extent is proven minimal."""
        return self.extent == self.lower_bound


def plan_extent(slices: Sequence[Slice], *, alignment: int, time_limit: float, capacity: int = 0) -> Placed:
    """Aligned offsets with the smallest extent found, and the bound that is proven.

    The bound is that of rounded sizes without the most that one of them was rounded up by: the last
    slice can end no further below its rounded end.

    Args:
        slices: Half-open live ranges, sizes in bytes.
        alignment: Bytes that every offset is a multiple of.
        time_limit: Seconds after which the best offsets so far are returned.
        capacity: An extent that is small enough.

    Raises:
        ValueError: if the alignment is not positive or a size is negative.
    """
    began = time.monotonic()
    deadline = began + time_limit
    # Of slices alike but for rounding the planner takes the first first: the fullest, at the bottom.
    order = sorted(range(len(slices)), key=lambda index: _spare(slices[index], alignment))
    given = [slices[index] for index in order]
    spare = max((_spare(item, alignment) for item in slices if _occupies(item)), default=0)
    bound, best, reached = _live_bound(slices, alignment), [0] * len(slices), -1
    # A plan that ends above the capacity by its rounding may fit; one that does not at all surely does.
    for goal in sorted({-(-capacity // alignment), capacity // alignment}, reverse=True):
        left = max(0.0, deadline - time.monotonic())
        found = plan(given, alignment=alignment, time_limit=left, capacity=goal * alignment)
        bound = max(bound, found.lower_bound - spare)
        offsets = [0] * len(slices)
        for index, offset in zip(order, found.offsets, strict=True):
            offsets[index] = offset
        for candidate in _rearranged(slices, offsets, alignment, deadline):
            end = extent(slices, candidate)
            if reached < 0 or end < reached:
                best, reached = candidate, end
            if reached <= max(capacity, bound):
                break
        if reached <= capacity or bound > capacity > 0:
            break
    return Placed(tuple(best), reached, bound, time.monotonic() - began)


def extent(slices: Sequence[Slice], offsets: Sequence[int]) -> int:
    """Bytes up to the end of the last slice."""
    placed = zip(slices, offsets, strict=True)
    return max((offset + item.size for item, offset in placed if _occupies(item)), default=0)


def _occupies(item: Slice) -> bool:
    return item.size > 0 and item.start < item.end


def _spare(item: Slice, alignment: int) -> int:
    """Bytes by which the size is rounded up."""
    return -item.size % alignment


def _live_bound(slices: Sequence[Slice], alignment: int) -> int:
    """The most that live slices need at a step: rounded sizes, but for the last one in the arena."""
    ends: list[tuple[int, int]] = []
    spares: list[tuple[int, int]] = []
    live = most = 0
    for item in sorted(filter(_occupies, slices), key=lambda item: item.start):
        while ends and ends[0][0] <= item.start:
            live -= heapq.heappop(ends)[1]
        spare = _spare(item, alignment)
        heapq.heappush(ends, (item.end, item.size + spare))
        heapq.heappush(spares, (-spare, item.end))
        while spares[0][1] <= item.start:
            heapq.heappop(spares)
        live += item.size + spare
        most = max(most, live + spares[0][0])
    return most


def _rearranged(
    slices: Sequence[Slice], offsets: Sequence[int], alignment: int, deadline: float
) -> Iterator[list[int]]:
    """The offsets; then others near them, with slices on top that were rounded up by much."""
    yield list(offsets)
    live = [index for index, item in enumerate(slices) if _occupies(item)]
    live_spares = [_spare(slices[index], alignment) for index in live]
    if not any(live_spares):
        return
    problem = Problem(
        tuple(slices[index].start for index in live),
        tuple(slices[index].end for index in live),
        tuple(-(-slices[index].size // alignment) for index in live),
    )
    if not affordable(problem, deadline):
        return
    for order in _orders(problem, [offsets[index] // alignment for index in live], live_spares):
        if time.monotonic() >= deadline:
            break
        candidate = [0] * len(slices)
        for index, unit in zip(live, place(problem, order), strict=True):
            candidate[index] = unit * alignment
        yield candidate


def _orders(problem: Problem, offsets: Sequence[int], spares: Sequence[int]) -> Iterator[list[int]]:
    """Orders to place slices in: what was rounded up comes late, what ends at the top goes below."""
    upwards = sorted(range(len(problem)), key=offsets.__getitem__)
    yield sorted(upwards, key=lambda i: spares[i] > 0)
    yield sorted(upwards, key=lambda i: spares[i])
    yield sorted(upwards, key=lambda i: -offsets[i] - problem.sizes[i])
    for top in sorted(upwards, key=lambda i: -spares[i])[:_TRIES]:
        yield [*(i for i in upwards if i != top), top]
    order = upwards
    for _ in range(_TRIES):
        placed = place(problem, order)
        # The highest end by bytes: of those in the highest unit the one that was rounded up least.
        worst = max(order, key=lambda i: (placed[i] + problem.sizes[i], -spares[i]))
        order = [worst, *(i for i in order if i != worst)]
        yield order
