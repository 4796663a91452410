"""Fast packing heuristics: place slices one by one, in some order, at the first or best gap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

from serenity_mlir.arena.problem import Problem

Key = Callable[[Problem, int], tuple[int, ...]]

ORDERS: dict[str, Key] = {
    "size": lambda p, i: (-p.sizes[i], p.starts[i] - p.ends[i]),
    "duration": lambda p, i: (p.starts[i] - p.ends[i], -p.sizes[i]),
    "area": lambda p, i: ((p.starts[i] - p.ends[i]) * p.sizes[i],),
    "start": lambda p, i: (p.starts[i], -p.sizes[i]),
    "end": lambda p, i: (-p.ends[i], -p.sizes[i]),
    "given": lambda p, i: (i,),
}
"""What each order sorts by, ascending; ties keep the order of the slices."""


def place(problem: Problem, order: Sequence[int], *, best_fit: bool = False) -> list[int]:
    """Offsets, in units, when slices are placed one by one in `order`.

    First fit takes the lowest gap that is large enough; best fit the smallest such gap, and
    the top of the stack only where no gap is large enough. A slice looks only at slices that
    overlap it in time, so a chain of n slices costs n log n.
    """
    offsets = [-1] * len(problem)
    sizes = problem.sizes
    neighbours = problem.neighbours
    for index in order:
        size = sizes[index]
        blocks = sorted((offsets[other], sizes[other]) for other in neighbours[index] if offsets[other] >= 0)
        top = 0
        chosen = -1
        smallest = 0
        for offset, height in blocks:
            gap = offset - top
            if gap >= size and (chosen < 0 or gap < smallest):
                chosen, smallest = top, gap
                if not best_fit:
                    break
            top = max(top, offset + height)
        offsets[index] = top if chosen < 0 else chosen
    return offsets


def sweep(problem: Problem) -> list[int]:
    """Offsets by first fit in order of time, of equals the largest first, from a list of what is free.

    It looks at no pairs of slices, so it serves problems that have too many.
    """
    order = sorted(range(len(problem)), key=lambda i: (problem.starts[i], -problem.sizes[i]))
    offsets = [0] * len(problem)
    live: list[tuple[int, int]] = []
    free = [(0, sum(problem.sizes))]
    for index in order:
        while live and live[0][0] <= problem.starts[index]:
            _, ended = heappop(live)
            _release(free, offsets[ended], offsets[ended] + problem.sizes[ended])
        size = problem.sizes[index]
        gap = next(at for at, (start, end) in enumerate(free) if end - start >= size)
        start, end = free[gap]
        offsets[index] = start
        free[gap : gap + 1] = [(start + size, end)] if start + size < end else []
        heappush(live, (problem.ends[index], index))
    return offsets


def _release(free: list[tuple[int, int]], start: int, end: int) -> None:
    """Adds a range to sorted ranges that are free, as one with those that it touches."""
    first = last = bisect_left(free, (start, end))
    if last < len(free) and free[last][0] == end:
        end = free[last][1]
        last += 1
    if first and free[first - 1][1] == start:
        first -= 1
        start = free[first][0]
    free[first:last] = [(start, end)]


def height(problem: Problem, offsets: Sequence[int]) -> int:
    """Units of the arena that `offsets` need."""
    return max((offset + size for offset, size in zip(offsets, problem.sizes, strict=True)), default=0)


def heuristics(problem: Problem) -> Iterator[tuple[str, list[int]]]:
    """Each heuristic's name and offsets, in units, the cheapest and usually best first."""
    for name, key in ORDERS.items():
        order = sorted(range(len(problem)), key=lambda index: key(problem, index))
        for fit in ("first", "best"):
            yield f"{fit}-fit by {name}", place(problem, order, best_fit=fit == "best")
