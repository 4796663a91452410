"""Local improvement of an order: the nodes around its peak are ordered anew, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.problem import Partition, Problem
from serenity_mlir.schedulers.search import Search

_STATES = 60
"""States that the search of a window may take, times its width."""


def improve(
    problem: Problem, order: Sequence[int], *, floor: int, budget: Budget, widths: Sequence[int]
) -> list[int]:
    """Lowers the peak of a legal order until no window around it can be ordered better.

    Args:
        problem: What to order.
        order: All its nodes.
        floor: A peak that is good enough.
        budget: What may be spent; what is spent is taken from it.
        widths: How many nodes a window has: all of the first are tried before any of the next.
    """
    current = list(order)
    while True:
        hills = problem.hills(current)
        peak = max(hills, default=0)
        if peak <= floor:
            return current
        for window in _windows(hills.index(peak), len(current), widths):
            if budget.spent:
                return current
            nodes = sorted(current[window.start : window.stop])
            parts = [sorted(current[: window.start]), nodes, sorted(current[window.stop :])]
            outside = max(hills[: window.start] + hills[window.stop :], default=0)
            level = min(max(floor, outside), peak - 1)
            search = Search(Partition(problem, parts).problem(1), floor=level, ceiling=peak)
            found = search.run(budget.part(states=_STATES * len(nodes)))
            budget.charge(search.states)
            if found is not None:
                current[window.start : window.stop] = [nodes[index] for index in found]
                break
        else:
            return current


def _windows(step: int, steps: int, widths: Sequence[int]) -> Iterator[range]:
    """Windows that hold `step`, those of one width have it in different places."""
    for width in widths:
        seen = set()
        for quarter in (2, 3, 1):
            start = max(0, min(step - width * quarter // 4, steps - width))
            if start not in seen:
                seen.add(start)
                yield range(start, min(start + width, steps))
        if width >= steps:
            break
