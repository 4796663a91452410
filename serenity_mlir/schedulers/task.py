"""One hard part of a graph: its search, and the best order known of it."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from functools import cached_property

from serenity_mlir.schedulers.beam import beam_search
from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.contract import contract
from serenity_mlir.schedulers.cuts import segments
from serenity_mlir.schedulers.improve import improve
from serenity_mlir.schedulers.problem import Partition, Problem
from serenity_mlir.schedulers.search import Search
from serenity_mlir.schedulers.side import Side, Sides
from serenity_mlir.schedulers.symmetry import order_twins

_BEAMS = (1, 4, 16, 64, 256, 1024)
_WINDOWS = (16, 32, 64, 96)
_HOPELESS = 1.1
"""A direction whose beam ends so many times above the other's is given up."""


def reduced(problem: Problem, budget: Budget) -> list[Problem]:
    """Problems to be ordered one after the other that together have the optimum of `problem`.

    With a spent budget they are just larger.
    """
    problem = contract(problem, budget)
    if not budget.spent:
        ordered = order_twins(problem)
        problem = problem if ordered is problem else contract(ordered, budget)
    parts = segments(problem.preds, problem.succs)
    if len(parts) == 1:
        return [problem]
    partition = Partition(problem, parts)
    return [partition.problem(part) for part in range(len(parts))]


def with_windows(method: str) -> str:
    """The name of a method whose order was then improved locally."""
    return method if method.endswith("+windows") else f"{method}+windows"


class Task:
    """A problem between two cut nodes.

    Attributes:
        problem: What to order.
        order: The best order known of its nodes.
        peak: Its peak.
        method: What found it.
        bound: No order that matters has a smaller peak; 0 before the first search.
    """

    def __init__(self, problem: Problem, rank: Mapping[int, int], method: str, enough: int) -> None:
        """Starts from the order of ops by `rank`; orders at or above `enough` do not matter."""
        self.problem = problem
        self.order = _ranked(problem, rank)
        self.peak = problem.peak(self.order)
        self.method = method
        self.bound = 0
        self._enough = enough
        self._searches: dict[float, Search] = {}

    @cached_property
    def _sides(self) -> Sides:
        return Sides(self.problem)

    def _prepared(self, budget: Budget) -> bool:
        return self._sides.forward.prepare(budget) and self._sides.backward.prepare(budget)

    def solve(self, floor: int, budget: Budget, *, stride: float, polished: bool = False) -> None:
        """Searches exactly; takes up the search of the same stride again if nothing has changed since.

        Args:
            floor: A peak that is good enough.
            budget: What may be spent.
            stride: As in `Search`.
            polished: Whether orders found are improved locally before better ones are looked for.
        """
        while self._prepared(budget) and not budget.spent:
            search = self._current(floor, stride)
            before = search.states
            nodes = search.run(budget)
            budget.charge(search.states - before)
            self.bound = max(self.bound, min(search.bound, search.ceiling))
            if nodes is None or self.peak <= floor:
                break
            self._take(nodes, "exact")
            if polished:
                self._take(self._improved(nodes, floor, budget), "exact+windows")

    def _current(self, floor: int, stride: float) -> Search:
        floor = max(floor, self.bound)
        ceiling = min(self.peak, self._enough)
        search = self._searches.get(stride)
        if search is None or search.ceiling != ceiling:
            search = Search(self._sides, floor=floor, ceiling=ceiling, stride=stride)
            self._searches[stride] = search
        search.raise_bound(floor)
        return search

    def sketch(self, floor: int, budget: Budget) -> None:
        """Looks for a good order in little time, without proof."""
        self._touch_up(floor, budget.part(0.4))
        if self._prepared(budget):
            for side in (self._sides.forward, self._sides.backward):
                self._beam(side, _BEAMS[1], budget.part(0.3))
        self._touch_up(floor, budget)

    def _touch_up(self, floor: int, budget: Budget) -> None:
        order = improve(self.problem, self.order, floor=floor, budget=budget, widths=_WINDOWS[:2])
        self._take(order, with_windows(self.method))

    def polish(self, floor: int, budget: Budget, beams: int | None = None) -> None:
        """Looks for ever better orders, without proof: wider and wider beams, each improved locally.

        Args:
            floor: A peak that is good enough.
            budget: What may be spent.
            beams: How many widths are tried; all if None.
        """
        self._take(self._improved(self.order, floor, budget), with_windows(self.method))
        if not self._prepared(budget):
            return
        sides = [self._sides.forward, self._sides.backward]
        for width in _BEAMS[:beams]:
            peaks = {}
            for side in sides:
                order = self._beam(side, width, budget)
                if order is not None:
                    peaks[side] = self.problem.peak(order)
                    self._take(self._improved(order, floor, budget), "beam+windows")
            if self.peak <= floor or budget.spent:
                break
            sides = [side for side in sides if peaks[side] <= min(peaks.values()) * _HOPELESS]

    def _improved(self, order: list[int], floor: int, budget: Budget) -> list[int]:
        return improve(self.problem, order, floor=floor, budget=budget, widths=_WINDOWS)

    def _beam(self, side: Side, width: int, budget: Budget) -> list[int] | None:
        order = beam_search(side, width, floor=self.bound, budget=budget)
        if order is not None:
            if side.backward:
                order.reverse()
            self._take(order, "beam")
        return order

    def _take(self, order: list[int], method: str) -> None:
        peak = self.problem.peak(order)
        if peak < self.peak:
            self.order, self.peak, self.method = order, peak, method


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
