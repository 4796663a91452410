"""SERENITY's parts put together: which of them are used is the caller's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers.baselines import kahn
from serenity_mlir.schedulers.bounds import lower_bound
from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.cuts import segments
from serenity_mlir.schedulers.problem import LARGEST, Partition, Problem
from serenity_mlir.schedulers.result import Schedule
from serenity_mlir.schedulers.segment import Segment, by_baseline, peaks_of
from serenity_mlir.schedulers.serenity.dp import Outcome, dynamic_programming
from serenity_mlir.schedulers.serenity.soft_budget import STEP_TIME_LIMIT, adaptive_soft_budgeting
from serenity_mlir.schedulers.side import Side


@dataclass(frozen=True, slots=True)
class Serenity:
    """A choice of SERENITY's parts.

    Attributes:
        divide: Divide and conquer at cut nodes (section 3.3), each part ordered on its own.
        soft_budgeting: Adaptive soft budgeting (Algorithm 2), else plain dynamic programming.
        step_time_limit: Seconds, T of Algorithm 2 at first.
    """

    divide: bool = False
    soft_budgeting: bool = False
    step_time_limit: float = STEP_TIME_LIMIT

    @property
    def method(self) -> str:
        """The name that reports use."""
        return "dp" + "+dc" * self.divide + "+asb" * self.soft_budgeting

    def schedule(self, graph: MemoryGraph, *, time_limit: float, max_states: int) -> Schedule:
        """The order of `graph` with the smallest peak, or the best baseline where that is not found.

        Where time or states run out in a part, it keeps the order of its best baseline, and the bound
        is what the completed steps of the dynamic programming prove.

        Args:
            graph: What to order.
            time_limit: Wall time to spend, in seconds.
            max_states: Signatures to memoise, never more.

        Raises:
            CheckFailed: The order found is not legal or not what it was said to be: our fault.
        """
        start = perf_counter()
        budget = Budget(start + time_limit, max_states)
        ranges = segments(graph.preds, graph.succs) if self.divide else [range(len(graph.ops))]
        bound = lower_bound(graph)
        parts = by_baseline(graph, ranges, floor=0, budget=budget) if graph.ops else []
        bound = max(bound, self._search(graph, parts, budget))
        order = tuple(op for part in parts for op in part.order)
        return Schedule(
            order=order,
            peak=peak(graph, order),
            lower_bound=bound,
            method=_methods(parts),
            states=max_states - budget.states,
            seconds=perf_counter() - start,
            segments=len(parts),
        ).checked(graph, max((part.peak for part in parts), default=0))

    def _search(self, graph: MemoryGraph, parts: Sequence[Segment], budget: Budget) -> int:
        """Puts each part in its best order; returns a bound on the peak of the whole."""
        ranges = [part.ops for part in parts]
        hard_budgets = peaks_of(graph, kahn(graph), ranges)
        partition = Partition(Problem.of(graph), ranges)
        bound = 0
        # What small parts leave of their shares goes to the large ones.
        small_first = sorted(range(len(parts)), key=lambda index: len(ranges[index]))
        for left, index in zip(range(len(parts), 0, -1), small_first, strict=True):
            part, share = parts[index], budget.part(1 / left)
            if len(part.ops) > LARGEST or share.spent:
                continue
            problem = partition.problem(index)
            side = Side(problem, backward=False)
            order, proven = self._ordered(side, share, hard_budgets[index])
            bound = max(bound, proven)
            if order is not None:
                part.order = problem.ops_of(order)
                part.peak, part.method = problem.peak(order), self.method
        return bound

    def _ordered(self, side: Side, budget: Budget, hard_budget: int) -> tuple[Sequence[int] | None, int]:
        """The nodes of one part in the best order, if it was found, and a bound on their peak."""
        runs = (
            [dynamic_programming(side, budget)]
            if not self.soft_budgeting
            else [
                attempt.result
                for attempt in adaptive_soft_budgeting(
                    side, budget, hard_budget=hard_budget, step_time_limit=self.step_time_limit
                )
            ]
        )
        order = runs[-1].order if runs and runs[-1].outcome is Outcome.SOLUTION else None
        return order, max((run.bound for run in runs), default=0)


def _methods(parts: Sequence[Segment]) -> str:
    names = dict.fromkeys(part.method for part in parts)
    return ", ".join(names) or "file-order"
