"""One hard part of a graph: its search, and the best order known of it."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from serenity_mlir.schedulers.beam import beam_search
from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.contract import contract
from serenity_mlir.schedulers.cuts import segments
from serenity_mlir.schedulers.improve import improve
from serenity_mlir.schedulers.problem import Partition, Problem
from serenity_mlir.schedulers.search import Search
from serenity_mlir.schedulers.side import Side
from serenity_mlir.schedulers.symmetry import order_twins

_BEAMS = (1, 4, 16, 64, 256, 1024)
_WINDOWS = (16, 32, 64, 96)
_HOPELESS = 1.1
"""A direction whose beam ends so many times above the other's is given up."""


def reduced(problem: Problem, budget: Budget) -> list[Problem]:
    """Problems to be ordered one after the other that together have the optimum of `problem`.

    With a spent budget they are just larger.
    """
    problem = contract(order_twins(contract(problem, budget)), budget)
    parts = segments(problem.preds, problem.succs)
    if len(parts) == 1:
        return [problem]
    partition = Partition(problem, parts)
    return [partition.problem(part) for part in range(len(parts))]


class Task:
    """A problem between two cut nodes.

    Attributes:
        problem: What to order.
        order: The best order known of its nodes.
        peak: Its peak.
        method: What found it.
        states: States expanded for it.
    """

    def __init__(self, problem: Problem, rank: Mapping[int, int], method: str, enough: int) -> None:
        """Starts from the order of ops by `rank`; orders at or above `enough` are not looked for."""
        self.problem = problem
        self.order = _ranked(problem, rank)
        self.peak = problem.peak(self.order)
        self.method = method
        self.states = 0
        self._enough = enough
        self._search: Search | None = None

    @property
    def bound(self) -> int:
        """No order that matters has a smaller peak; 0 before the first search."""
        return 0 if self._search is None else min(self._search.level, self._search.ceiling)

    def solve(self, floor: int, budget: Budget) -> None:
        """Searches on, exactly. `floor` is a peak that is good enough."""
        search = self._prepared(floor)
        before = search.states
        nodes = search.run(budget, floor)
        budget.charge(search.states - before)
        self.states += search.states - before
        if nodes is not None:
            self._take(nodes, "exact")
            search.ceiling = min(search.ceiling, search.level)

    def sketch(self, floor: int, budget: Budget) -> None:
        """Looks for a good order in little time, without proof."""
        before = budget.states
        for side in self._prepared(floor).sides:
            self._beam(side, 4, floor, budget)
        order = improve(self.problem, self.order, floor=floor, budget=budget, widths=_WINDOWS[:2])
        self._take(order, f"{self.method}+windows")
        self.states += before - budget.states

    def polish(self, floor: int, budget: Budget) -> None:
        """Looks for ever better orders, without proof: wider and wider beams, each improved locally."""
        before = budget.states
        self._take(self._improved(self.order, floor, budget), f"{self.method}+windows")
        sides = list(self._prepared(floor).sides)
        for width in _BEAMS:
            peaks = {}
            for side in sides:
                order = self._beam(side, width, floor, budget)
                if order is not None:
                    peaks[side] = self.problem.peak(order)
                    self._take(self._improved(order, floor, budget), "beam+windows")
            if self.peak <= floor or budget.spent:
                break
            sides = [side for side in sides if peaks[side] <= min(peaks.values()) * _HOPELESS]
        self.states += before - budget.states

    def _improved(self, order: list[int], floor: int, budget: Budget) -> list[int]:
        return improve(self.problem, order, floor=floor, budget=budget, widths=_WINDOWS)

    def _beam(self, side: Side, width: int, floor: int, budget: Budget) -> list[int] | None:
        order = beam_search(side, width, floor=floor, budget=budget)
        if order is not None:
            if side.backward:
                order.reverse()
            self._take(order, "beam")
        return order

    def _prepared(self, floor: int) -> Search:
        if self._search is None:
            self._search = Search(self.problem, floor=floor, ceiling=min(self.peak, self._enough))
        return self._search

    def _take(self, order: list[int], method: str) -> None:
        peak = self.problem.peak(order)
        if peak < self.peak:
            self.order, self.peak, self.method = order, peak, method
            if self._search is not None:
                self._search.ceiling = min(self._search.ceiling, peak)


def _ranked(problem: Problem, rank: Mapping[int, int]) -> list[int]:
    """A legal order of nodes that follows the rank of their last ops as far as it can."""
    missing = [len(preds) for preds in problem.preds]
    ready = [(rank[problem.nodes[node].ops[-1]], node) for node, count in enumerate(missing) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        _, node = heapq.heappop(ready)
        order.append(node)
        for succ in problem.succs[node]:
            missing[succ] -= 1
            if missing[succ] == 0:
                heapq.heappush(ready, (rank[problem.nodes[succ].ops[-1]], succ))
    return order
