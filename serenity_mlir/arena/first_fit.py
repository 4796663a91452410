"""Fast packing heuristics: place slices one by one, in some order, at the first or best gap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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


def height(problem: Problem, offsets: Sequence[int]) -> int:
    """Units of the arena that `offsets` need."""
    return max((offset + size for offset, size in zip(offsets, problem.sizes, strict=True)), default=0)


def heuristics(problem: Problem) -> Iterator[tuple[str, list[int]]]:
    """Each heuristic's name and offsets, in units, the cheapest and usually best first."""
    for name, key in ORDERS.items():
        order = sorted(range(len(problem)), key=lambda index: key(problem, index))
        for fit in ("first", "best"):
            yield f"{fit}-fit by {name}", place(problem, order, best_fit=fit == "best")
