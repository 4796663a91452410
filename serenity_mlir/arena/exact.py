"""The smallest arena of one problem: searches at rising capacities, from the proven bound up."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from serenity_mlir.arena.first_fit import height
from serenity_mlir.arena.preordered import Preordered
from serenity_mlir.arena.problem import Problem, Sections
from serenity_mlir.arena.search import OutOfBudget, Refuted, Search

Key = Callable[[Problem, Sections, int], tuple[int, ...]]


def _duration(problem: Problem, index: int) -> int:
    return problem.ends[index] - problem.starts[index]


def _busiest(sections: Sections, index: int) -> int:
    return max(sections.totals[sections.first[index] : sections.last[index]])


PREORDERS: dict[str, Key] = {
    "size": lambda p, s, i: (-p.sizes[i],),
    "area": lambda p, s, i: (-_duration(p, i) * p.sizes[i],),
    "busy, area": lambda p, s, i: (-_busiest(s, i), -_duration(p, i) * p.sizes[i]),
    "duration, size": lambda p, s, i: (-_duration(p, i), -p.sizes[i]),
    "busy, duration": lambda p, s, i: (-_busiest(s, i), -_duration(p, i)),
    "overlaps, size": lambda p, s, i: (-len(p.neighbours[i]), -p.sizes[i]),
    "sections, size": lambda p, s, i: (s.first[i] - s.last[i], -p.sizes[i]),
}
"""What each preorder sorts by, ascending; ties keep the order of the slices."""

PORTFOLIO: tuple[tuple[str, str], ...] = (
    ("lowest", "duration, size"),
    ("lowest", "size"),
    ("level", "duration, size"),
    ("lowest", "area"),
    ("heaviest", "sections, size"),
    ("level", "area"),
    ("heaviest", "area"),
)
"""Section selection and preorder of the searches, chosen on minimalloc's challenging instances."""

NODES_PER_SLICE = 2.5
"""Run times are heavy-tailed: a search that is going to succeed mostly does so in a few nodes a slice."""

DISTURBANCE = 0.1
"""How far a slice moves in a disturbed preorder, as a share of the slices (standard deviation)."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Offsets of one problem with their certificate, all in units of the alignment.

    Attributes:
        offsets: One a slice.
        height: The arena that they need.
        bound: No offsets need less, unless `floor` was above it.
        nodes: Search nodes visited.
    """

    offsets: list[int]
    height: int
    bound: int
    nodes: int


def minimise(problem: Problem, offsets: Sequence[int], floor: int, deadline: float) -> Packing:
    """Improve `offsets` until they are optimal, as low as `floor`, or time is up.

    Args:
        problem: The slices.
        offsets: A correct packing to start from.
        floor: A height below which there is nothing to gain, at least the problem's peak.
        deadline: When to stop, on the clock of `time.monotonic`.
    """
    return _Minimiser(problem, list(offsets), floor, deadline).run()


class _Minimiser:
    def __init__(self, problem: Problem, offsets: list[int], floor: int, deadline: float) -> None:
        self.problem = problem
        self.sections = Sections.of(problem)
        self.offsets = offsets
        self.height = height(problem, offsets)
        self.bound = self.defied = floor
        self.deadline = deadline
        self.nodes = 0
        self.random = random.Random(0)  # noqa: S311 - the same on every run, and nothing is secret

    def run(self) -> Packing:
        """Search at the bound, over and over, and after each time above it to lower the height meanwhile.

        Node limits rise from one round of the portfolio to the next.
        """
        for attempt in itertools.count():
            if not self._open():
                break
            node_limit = int(NODES_PER_SLICE * len(self.problem)) * luby(attempt // len(PORTFOLIO) + 1)
            self._decide(self._search(self.bound, attempt), node_limit)
            if self._open():
                self._lower(attempt, node_limit)
        return Packing(self.offsets, self.height, self.bound, self.nodes)

    def _open(self) -> bool:
        return self.height > self.bound and time.monotonic() < self.deadline

    def _lower(self, attempt: int, node_limit: int) -> None:
        """Halve the way from the last capacity that defied a search, at first the bound, to the height."""
        if not self.bound <= self.defied < self.height:
            self.defied = self.bound
        capacity = (self.defied + self.height) // 2
        if not self._decide(self._search(capacity, attempt), node_limit):
            self.defied = capacity + 1

    def _search(self, capacity: int, attempt: int) -> Search:
        """The search of that number: all of the portfolio, and then over again with disturbed preorders."""
        selection, preorder = PORTFOLIO[attempt % len(PORTFOLIO)]
        key = PREORDERS[preorder]
        order = sorted(range(len(self.problem)), key=lambda index: key(self.problem, self.sections, index))
        if attempt >= len(PORTFOLIO):
            spread = DISTURBANCE * len(order)
            place = {index: self.random.gauss(position, spread) for position, index in enumerate(order)}
            order.sort(key=place.__getitem__)
        return Search(Preordered(self.problem, self.sections, order), capacity, selection)

    def _decide(self, search: Search, node_limit: int) -> bool:
        """Run `search` and move height or bound by its outcome; False if the budget ends it."""
        try:
            outcome = search.run(node_limit, self.deadline)
        except OutOfBudget:
            return False
        finally:
            self.nodes += search.nodes
        if isinstance(outcome, Refuted):
            self.bound = outcome.next_capacity
        else:
            self.offsets, self.height = outcome, height(self.problem, outcome)
        return True


def luby(position: int) -> int:
    """The restart sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 … at `position`, counted from 1.

    Within a logarithmic factor of the best possible restarts, whatever the distribution of run
    times (Luby, Sinclair, Zuckerman, 1993).
    """
    while position & (position + 1):
        position -= (1 << position.bit_length() - 1) - 1
    return (position + 1) >> 1
