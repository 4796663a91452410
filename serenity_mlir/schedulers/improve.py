"""Local improvement of an order: the nodes around its peak are ordered anew, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.problem import Problem, Storage, without_implied
from serenity_mlir.schedulers.search import Search
from serenity_mlir.schedulers.side import Sides

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
    if budget.spent:
        return list(order)
    current = WindowedOrder(problem, order)
    while True:
        peak = max(current.hills, default=0)
        if peak <= floor:
            return current.order
        for window in _windows(current.hills.index(peak), len(order), widths):
            if budget.spent:
                return current.order
            if current.lower(window, peak, floor, budget):
                break
        else:
            return current.order


class WindowedOrder:
    """An order that changes in windows, each in time that does not depend on the size of the rest."""

    def __init__(self, problem: Problem, order: Sequence[int]) -> None:
        self.problem = problem
        self.order = list(order)
        self.before, self.hills = problem.profile(order)
        self.position = [0] * len(order)
        for place, node in enumerate(order):
            self.position[node] = place

    def lower(self, window: range, peak: int, floor: int, budget: Budget) -> bool:
        """Orders a window that holds the peak anew; whether that lowers the peak there."""
        outside = max(self.hills[: window.start] + self.hills[window.stop :], default=0)
        nodes = sorted(self.order[window.start : window.stop])
        part = self._problem(nodes, window)
        search = Search(Sides(part), floor=min(max(floor, outside), peak - 1), ceiling=peak)
        found = search.run(budget.part(states=_STATES * len(nodes)))
        budget.charge(search.states)
        if found is None:
            return False
        places = slice(window.start, window.stop)
        self.order[places] = [nodes[index] for index in found]
        self.before[places], self.hills[places] = part.profile(found)
        for place in window:
            self.position[self.order[place]] = place
        return True

    def _problem(self, nodes: Sequence[int], window: range) -> Problem:
        """The problem of ordering the nodes of a window, when all others stay where they are."""
        whole, base = self.problem, self.before[window.start]
        local = {node: index for index, node in enumerate(nodes)}
        storages = []
        for index in sorted({index for node in nodes for index in whole.touches[node]}):
            storage = whole.storages[index]
            places = [self.position[node] for node in storage.spans]
            live_in = storage.live_in or min(places) < window.start
            live_out = storage.live_out or max(places) >= window.stop
            if not (live_in and live_out):
                base -= storage.size if live_in else 0
                spans = {local[node]: span for node, span in storage.spans.items() if node in local}
                storages.append(Storage(storage.size, spans, live_in, live_out))
        preds = [[local[pred] for pred in whole.preds[node] if pred in local] for node in nodes]
        chosen = tuple(whole.nodes[node] for node in nodes)
        return Problem(chosen, without_implied(preds), tuple(storages), base)


def _windows(step: int, steps: int, widths: Sequence[int]) -> Iterator[range]:
    """Windows that hold `step`, small ones first; those of one width have it in different places."""
    for width in widths:
        seen = set()
        for quarter in (2, 3, 1):
            start = max(0, min(step - width * quarter // 4, steps - width))
            if start not in seen:
                seen.add(start)
                yield range(start, min(start + width, steps))
        if width >= steps:
            break
