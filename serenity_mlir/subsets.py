"""The subset of least cost: exhaustive where there are few items, anytime where there are many."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
Cost = Callable[[frozenset[T]], float]

EXHAUSTIVE = 4
"""Items up to which every subset is tried."""


def best_subset(
    items: Sequence[T],
    cost: Cost[T],
    *,
    late: Callable[[], bool],
    starts: Iterable[frozenset[T]] = (),
) -> frozenset[T]:
    """The smallest subset of least cost, among those that were tried.

    Up to four items, every subset is tried. Beyond, all items at once and the given starts come first;
    then the best is grown by single items where nothing was better than none at all, and shrunk
    by halves, quarters, … and single items as long as that costs nothing (delta debugging: the set is
    minimal in that no single item can be left out).

    Args:
        items: Without repetition; earlier ones are grown by first.
        cost: Of a subset; it is asked again for the same ones, so it should remember.
        late: Whether time is up. No items and all items are tried in any case.
        starts: Subsets to begin from.
    """
    if not items:
        return frozenset()

    def better(one: frozenset[T], two: frozenset[T]) -> frozenset[T]:
        return min(one, two, key=lambda subset: (cost(subset), len(subset)))

    best = better(frozenset(), frozenset(items))
    small = len(items) <= EXHAUSTIVE
    subsets = (frozenset(found) for size in range(1, len(items)) for found in combinations(items, size))
    for start in subsets if small else starts:
        if late():
            break
        best = better(best, start)
    if small:
        return best
    for item in () if best else items:
        if late():
            break
        best = better(best, best | {item})
    return shrunk(best, sorted(best, key=items.index), cost, late=late)


def shrunk(
    best: frozenset[T], order: Sequence[T], cost: Cost[T], *, late: Callable[[], bool]
) -> frozenset[T]:
    """A subset that costs no more, without items that it can do without: delta debugging.

    Args:
        best: Where to begin.
        order: Its items; neighbours are left out together first.
        cost: As for `best_subset`.
        late: Whether time is up.
    """
    size = max(len(best) // 2, 1)
    while best and not late():
        kept = [item for item in order if item in best]
        found = False
        for part in (kept[start : start + size] for start in range(0, len(kept), size)):
            if late():
                return best
            smaller = best - set(part)
            if cost(smaller) <= cost(best):
                best, found = smaller, True
        if size == 1 and not found:
            return best
        size = max(size // 2, 1)
    return best
