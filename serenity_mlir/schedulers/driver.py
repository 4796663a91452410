"""The scheduler: baselines, bounds and cut nodes, then an exact search of what they leave open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers.bounds import lower_bound
from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.cuts import segments
from serenity_mlir.schedulers.improve import improve
from serenity_mlir.schedulers.problem import LARGEST, Partition, Problem
from serenity_mlir.schedulers.result import Schedule
from serenity_mlir.schedulers.segment import Segment, by_baseline
from serenity_mlir.schedulers.task import Task, reduced, with_windows
from serenity_mlir.schedulers.window_bound import window_bound

_FIRST_LOOK = 20_000
"""States within which most graphs are solved; beams are not worth their time before that."""

_CHECKS = 0.05
"""Share of the time limit that is kept for putting the result together and checking it."""

_SHARES = {
    "look": 0.15,
    "sketch": 0.1,
    "window": 0.25,
    "polish": 0.2,
    "bound": 0.2,
    "proof": 0.6,
    "smooth": 0.7,
}
"""How much of what is left then each stage gets; the last one, "rest", gets all of it."""

_POLISH_BEAMS = 3
"""Widths of beams before the proof, which is the shorter, the better the order that it starts from."""

_QUICK, _PROOF, _BOUND = 0.75, 1.0, 0.1
"""Strides of the searches. Measured: with 0.75 the least time to a proof from a poor order; with 1 the
least from a good one, but no bound without a proof."""

_SMOOTH = (32, 64, 128)

_AROUND = (48, 96, 192, 384)
"""Nodes around a peak whose optimum bounds that of all. Measured on 5,000 ops that each use two of the last
20 results: the best order of 96 to 192 of them has the peak of the best order of all."""


def best_schedule(graph: MemoryGraph, *, time_limit: float, max_states: int) -> Schedule:
    """The order of `graph` with the smallest peak, or the best found within the limits.

    Never worse than any baseline, and file order itself wherever no better order is known. The
    same graph gives the same order, unless the time limit cuts the search short.

    Args:
        graph: What to order.
        time_limit: Wall time to spend, in seconds.
        max_states: Search states to spend, never more. They bound the memory: up to 150 bytes each in graphs
            of 100 to 1,000 ops, 2,000 bytes in graphs of 5,000, whose bitmasks are longer (measured:
            peak resident set).

    Raises:
        CheckFailed: The order found is not legal or not what it was said to be: our fault.
    """
    start = perf_counter()
    budget = Budget(start + (1 - _CHECKS) * time_limit, max_states)
    hunt = _Hunt(graph, budget)
    hunt.run(budget)
    order, method = hunt.result()
    return Schedule(
        order=order,
        peak=peak(graph, order),
        lower_bound=hunt.lower,
        method=method,
        states=max_states - budget.states,
        seconds=perf_counter() - start,
        segments=len(hunt.segments),
    ).checked(graph, hunt.upper)


@dataclass(slots=True)
class _Segment(Segment):
    """A segment that is searched.

    Attributes:
        tasks: Problems to be solved one after the other for a better order, once there are any.
    """

    tasks: list[Task] = field(default_factory=list)

    @property
    def best(self) -> int:
        """The smallest peak known."""
        return min(self.peak, max(task.peak for task in self.tasks)) if self.tasks else self.peak


class _Hunt:
    """The search for an order of a whole graph.

    Attributes:
        segments: In the order in which they run.
        lower: No order has a smaller peak.
    """

    def __init__(self, graph: MemoryGraph, budget: Budget) -> None:
        self.graph = graph
        self.lower = lower_bound(graph)
        self.segments = [
            _Segment(part.ops, part.file_peak, part.peak, part.order, part.method)
            for part in by_baseline(graph, segments(graph.preds, graph.succs), self.lower, budget)
        ]

    @property
    def upper(self) -> int:
        """The peak of the best order known."""
        return max((segment.best for segment in self.segments), default=0)

    def run(self, budget: Budget) -> None:
        """Improves the order and the bound until they meet or the budget is spent."""
        hard = [i for i, segment in enumerate(self.segments) if segment.peak > self.lower]
        if not hard or budget.spent:
            return
        hard.sort(key=lambda i: -self.segments[i].peak)
        whole = Problem.of(self.graph)
        partition = Partition(whole, [segment.ops for segment in self.segments])
        for left, index in zip(range(len(hard), 0, -1), hard, strict=True):
            if self.segments[index].peak > self.lower and not budget.spent:
                self._look(index, partition, budget.part(_SHARES["look"] / left))
        for task, share in self._open("sketch", budget):
            task.sketch(self.lower, budget.part(share))
            self._solve(task, budget.part(share, states=_FIRST_LOOK), _PROOF)
        self._look_around_peaks(budget)
        for task, share in self._open("polish", budget):
            task.polish(self.lower, budget.part(share), _POLISH_BEAMS)
        self._look_around_peaks(budget)
        for task, share in self._open("bound", budget):
            self._solve(task, budget.part(share), _BOUND)
        for task, share in self._open("proof", budget):
            self._solve(task, budget.part(share), _PROOF)
        for task, share in self._open("rest", budget):
            task.polish(self.lower, budget.part(share / 2))
            self._look_around_peaks(budget)
            self._solve(task, budget.part(share), _PROOF)
        self._smooth(whole, budget)

    def _look(self, index: int, partition: Partition, budget: Budget) -> None:
        """Prepares a segment, and solves it if that is easy."""
        segment = self.segments[index]
        if len(segment.ops) > LARGEST:
            return
        rank = dict(zip(segment.order, range(len(segment.ops)), strict=True))
        for problem in reduced(partition.problem(index), budget):
            segment.tasks.append(Task(problem, rank, segment.method, segment.peak))
        for task in sorted(segment.tasks, key=lambda task: -task.peak):
            if task.peak > self.lower:
                self._solve(task, budget.part(states=_FIRST_LOOK), _QUICK)

    def _look_around_peaks(self, budget: Budget) -> None:
        """Raises the bound by what the nodes around a peak need, wherever the rest runs."""
        for task, share in self._open("window", budget):
            self._look_around(task.problem, task.order, task.peak, budget.part(share))

    def _look_around(self, problem: Problem, order: Sequence[int], peak: int, budget: Budget) -> None:
        self.lower = window_bound(
            problem, order, floor=self.lower, enough=peak, budget=budget, widths=_AROUND
        )

    def _solve(self, task: Task, budget: Budget, stride: float) -> None:
        task.solve(self.lower, budget, stride=stride, polished=stride == _PROOF)
        self.lower = max(self.lower, task.bound)

    def _open(self, stage: str, budget: Budget) -> Iterator[tuple[Task, float]]:
        """Tasks on which the peak depends, worst first, each with its part of what is left at its turn."""
        tasks = [
            task
            for segment in self.segments
            if segment.best > self.lower
            for task in segment.tasks
            if task.peak > self.lower
        ]
        tasks.sort(key=lambda task: -task.peak)
        for left, task in zip(range(len(tasks), 0, -1), tasks, strict=True):
            if task.peak > self.lower and not budget.spent:
                yield task, _SHARES.get(stage, 1.0) / left

    def _smooth(self, whole: Problem, budget: Budget) -> None:
        """Improves segments that are too large for anything else."""
        if budget.spent or all(segment.tasks or segment.best <= self.lower for segment in self.segments):
            return
        order, _ = self.result()
        better = improve(
            whole, order, floor=self.lower, budget=budget.part(_SHARES["smooth"]), widths=_SMOOTH
        )
        self._look_around(whole, better, self.upper, budget)
        better = improve(whole, better, floor=self.lower, budget=budget, widths=_SMOOTH)
        if better == list(order):
            return
        _, hills = whole.profile(better)
        for segment in self.segments:
            top = max(hills[segment.ops.start : segment.ops.stop])
            if not segment.tasks and top < segment.peak:
                segment.peak = top
                segment.order = better[segment.ops.start : segment.ops.stop]
                segment.method = with_windows(segment.method)

    def result(self) -> tuple[tuple[int, ...], str]:
        """The best order known, and the methods that found it."""
        order: list[int] = []
        methods: list[str] = []
        upper = self.upper
        for segment in self.segments:
            if segment.file_peak <= upper:
                order += segment.ops
                continue
            if segment.peak <= upper:
                order += segment.order
                names = [segment.method]
            else:
                order += (op for task in segment.tasks for op in task.problem.ops_of(task.order))
                names = [task.method for task in segment.tasks]
            methods += (name for name in names if name not in methods)
        return tuple(order), ", ".join(methods) or "file-order"
