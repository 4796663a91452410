"""Bottleneck best-first search over downsets, from both ends at once.

Levels are peaks. At each level all states are explored that can be reached within it; once one
direction has none left, no order has that peak, and the next level is the smallest peak that was
cut off. So the first order found is optimal, and the level always is a proven lower bound.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

from serenity_mlir.schedulers.problem import Problem
from serenity_mlir.schedulers.side import Side

_CHUNK = 256


class Frontier:
    """The states that one direction has reached, and those that it had to put off."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.reached: dict[int, int] = {0: 0}
        self.stack: list[tuple[int, int, int]] = [(0, side.live, side.ready)]
        self.later: list[tuple[int, int, int, int, int, int]] = []
        self.states = 0
        self._count = 0

    def next_level(self) -> int | None:
        """The smallest peak that was cut off."""
        return self.later[0][0] if self.later else None

    def release(self, level: int) -> None:
        """Takes up the states that were put off and can be reached within `level`."""
        while self.later and self.later[0][0] <= level:
            _, _, state, live, ready, parent = heapq.heappop(self.later)
            if state not in self.reached:
                self.reached[state] = parent
                self.stack.append((state, live, ready))

    def advance(self, level: int, limit: int, other: Frontier, chunk: int) -> int | None:
        """Expands up to `chunk` states within `level`.

        States whose cheapest way on is `limit` or more are dropped.

        Returns:
            A state that both directions have reached, as this one sees it, if one was found.
        """
        stack, reached, table, full = self.stack, self.reached, self.side.table, self.side.full
        opposite = other.reached
        while stack and chunk:
            chunk -= 1
            self.states += 1
            start, live, ready = stack.pop()
            done, rest, moves = start, ready, []
            while rest:
                low = rest & -rest
                rest ^= low
                depends_on, effects = table[low]
                hill, net, new = effects[done & depends_on]
                if net <= 0 and live + hill <= level:
                    done |= low
                    live += net
                    ready = rest = ready ^ low | new
                    moves.clear()
                else:
                    moves.append((net, hill, low, new))
            if done != start:
                if done in reached:
                    continue
                reached[done] = start
            if full ^ done in opposite:
                return done
            moves.sort(reverse=True)
            for net, hill, low, new in moves:
                state = done | low
                if state in reached:
                    continue
                peak = live + hill
                if peak <= level:
                    reached[state] = done
                    if full ^ state in opposite:
                        return state
                    stack.append((state, live + net, ready ^ low | new))
                elif peak < limit:
                    self._count += 1
                    heapq.heappush(
                        self.later, (peak, self._count, state, live + net, ready ^ low | new, done)
                    )
        return None

    def path(self, state: int, level: int) -> list[int]:
        """The nodes of `state` in an order with no hill above `level`, in this direction."""
        states = [state]
        while states[-1]:
            states.append(self.reached[states[-1]])
        states.reverse()
        return [
            node
            for before, after in pairwise(states)
            for node in self.side.forced(before, after & ~before, level)
        ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search has established.

    Attributes:
        order: The problem's nodes in an order whose peak is `bound`; None if none was found.
        bound: No order has a smaller peak, or a smaller one than `ceiling` if that is less.
        states: States expanded.
    """

    order: list[int] | None
    bound: int
    states: int


def search(problem: Problem, *, floor: int, ceiling: int, deadline: float, max_states: int) -> Outcome:
    """Looks for an order with a peak below `ceiling`.

    Args:
        problem: What to order.
        floor: A peak up to which orders are equally good, such as a proven lower bound.
        ceiling: The peak of an order that is known.
        deadline: When to give up, on the clock of `time.perf_counter`.
        max_states: After how many states to give up.
    """
    ends = Frontier(Side(problem, backward=False)), Frontier(Side(problem, backward=True))
    level = floor
    while level < ceiling:
        states = sum(end.states for end in ends)
        if states >= max_states or perf_counter() >= deadline:
            break
        for end, other in (ends, ends[::-1]):
            met = end.advance(level, ceiling, other, _CHUNK)
            if met is not None:
                forward = met if end is ends[0] else end.side.full ^ met
                order = ends[0].path(forward, level)
                order += reversed(ends[1].path(end.side.full ^ forward, level))
                return Outcome(order, level, sum(end.states for end in ends))
        for end in ends:
            if not end.stack:
                level = max(level, end.next_level() or ceiling)
        for end in ends:
            end.release(level)
    return Outcome(None, min(level, ceiling), sum(end.states for end in ends))
