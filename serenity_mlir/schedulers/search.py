"""Bottleneck best-first search over downsets, from both ends at once.

Levels are peaks. At each level all states are explored that can be reached within it; once one
direction has none left, no order has that peak, and the smallest peak that was cut off is a proven
lower bound.

Two rules keep the states few. Both rest on live bytes being a submodular function of the set of
nodes that have run: what a node adds only falls, and what it frees only grows, as others run.

- Dominance: a ready node that does not raise live bytes and whose hill fits the level runs now.
- Commitment: so do a node and then descendants of it that are forced by it, if live bytes end up
  no higher than they were.
"""

from __future__ import annotations

import heapq

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.side import Side, Sides

State = tuple[int, int, int]
"""The nodes that have run, the bytes live then, and the nodes that are ready."""


class Frontier:
    """The states that one direction has reached, and those that it had to put off."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.states = 0
        self._reached: dict[int, int] = {0: 0}
        self._open: list[State] = [(0, side.live, side.ready)]
        self._levels: list[int] = []
        self._put_off: dict[int, list[State]] = {}

    @property
    def exhausted(self) -> bool:
        """Whether no state is left within the level."""
        return not self._open

    @property
    def next_level(self) -> int | None:
        """The smallest peak that was cut off."""
        return self._levels[0] if self._levels else None

    def release(self, level: int) -> None:
        """Takes up the states that have a way on within `level`."""
        while self._levels and self._levels[0] <= level:
            self._open += self._put_off.pop(heapq.heappop(self._levels))

    def advance(self, level: int, ceiling: int, other: Frontier, count: int) -> int | None:
        """Expands up to `count` states within `level`; ways on at `ceiling` or above are dropped.

        Returns:
            A state that both directions have reached, as this one sees it, if one was found.
        """
        reached, opposite, full = self._reached, other._reached, self.side.full
        for _ in range(count):
            if not self._open:
                break
            self.states += 1
            done, live, ready = self._open.pop()
            closed = self._close(done, live, ready, level)
            if closed is None:
                continue
            done, live, ready, moves = closed
            if full ^ done in opposite:
                return done
            cut_off = ceiling
            moves.sort(reverse=True)
            for net, hill, low, new in moves:
                state = done | low
                if state in reached:
                    continue
                if live + hill <= level:
                    reached[state] = done
                    if full ^ state in opposite:
                        return state
                    self._open.append((state, live + net, ready ^ low | new))
                else:
                    cut_off = min(cut_off, live + hill)
            if cut_off < ceiling:
                self._hold(cut_off, (done, live, ready))
        return None

    def _hold(self, level: int, state: State) -> None:
        if level not in self._put_off:
            self._put_off[level] = []
            heapq.heappush(self._levels, level)
        self._put_off[level].append(state)

    def _close(
        self, done: int, live: int, ready: int, level: int
    ) -> tuple[int, int, int, list[tuple[int, int, int, int]]] | None:
        """Runs what is forced; None if that leads to a state that was reached before.

        Returns:
            The state, and each move from it as (net, hill, node bit, nodes that become ready).
        """
        reached, table = self._reached, self.side.table
        while True:
            before, rest = done, ready
            moves: list[tuple[int, int, int, int]] = []
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
            if done != before:
                if done in reached:
                    return None
                reached[done] = before
            for net, hill, low, new in moves:
                if new and live + hill <= level:
                    valley = self._valley(done | low, live + net, new, live, level)
                    if valley is not None:
                        break
            else:
                return done, live, ready, moves
            reached.setdefault(done | low, done)
            state, live, new = valley
            if state in reached:
                return None
            reached[state] = done | low
            done, ready = state, ready & ~state | new

    def _valley(self, done: int, live: int, ready: int, target: int, level: int) -> State | None:
        """Runs on from a node, by moves that leave no choice, until live bytes are down to `target`.

        Only nodes of `ready` and those that become ready run: forced ones, or the only one there
        is. All descend from the node that ran last before, so without it none of them can run; a
        state on the way without a forced one has no fewer bytes live than with it; and one without
        an only one ends there, above the target. So between the state before that node and the one
        returned, none has fewer bytes live than the latter.
        """
        table, rest = self.side.table, ready
        while rest:
            low = rest & -rest
            rest ^= low
            depends_on, effects = table[low]
            hill, net, new = effects[done & depends_on]
            if (net <= 0 or low == ready) and live + hill <= level:
                done |= low
                live += net
                ready = rest = ready ^ low | new
                if live <= target:
                    return done, live, ready
        return None

    def path(self, state: int, level: int) -> list[int]:
        """The nodes of `state` in an order with no hill above `level`, in this direction."""
        states = [state]
        while states[-1]:
            states.append(self._reached[states[-1]])
        return self.side.path(states[::-1], level)


class Search:
    """A search that can be interrupted and taken up again.

    Attributes:
        bound: No order has a peak below this, except that orders with a peak of `floor` or less
            are not told apart.
        ceiling: Only orders with a smaller peak are looked for.
    """

    def __init__(self, sides: Sides, *, floor: int, ceiling: int, stride: float = 0.0) -> None:
        """Prepares a search.

        Args:
            sides: The moves of the problem to be solved, which several searches can share.
            floor: A peak up to which orders are equally good, such as a proven lower bound.
            ceiling: The peak of an order that is known.
            stride: How far the level is raised above the bound, as a share of the way to the
                ceiling. With 0 the first order found is optimal, but each state is taken up once
                for each level; with 1 all states are expanded once and more is dominated, but there
                is no bound before the end, and an order found still has to be proven optimal.
        """
        self.bound = floor
        self.ceiling = ceiling
        self._stride = stride
        self._level = floor
        self._ends = Frontier(sides.forward), Frontier(sides.backward)
        # The clock is read once a chunk; a state of a large problem takes longer.
        self._chunk = max(1, 8192 // (len(sides.forward.problem.nodes) + 64))
        self.raise_bound(floor)

    @property
    def states(self) -> int:
        """States expanded so far."""
        return sum(end.states for end in self._ends)

    @property
    def proven(self) -> bool:
        """Whether no order has a peak below the ceiling."""
        return self.bound >= self.ceiling

    def run(self, budget: Budget) -> list[int] | None:
        """Searches on until an order is found, none can be, or the budget is spent.

        Charging the budget is left to the caller.

        Returns:
            The nodes in an order with a peak below the ceiling; with a stride of 0 its peak is the
            bound or less.
        """
        forward, backward = self._ends
        before = self.states
        while not (self.proven or budget.spent or self.states - before >= budget.states):
            for end, other in ((forward, backward), (backward, forward)):
                left = budget.states - (self.states - before)
                met = end.advance(self._level, self.ceiling, other, min(self._chunk, left))
                if met is not None:
                    full = end.side.full
                    done = met if end is forward else full ^ met
                    return [
                        *forward.path(done, self._level),
                        *reversed(backward.path(full ^ done, self._level)),
                    ]
            for end in self._ends:
                if end.exhausted:
                    cut_off = end.next_level
                    self.raise_bound(self.ceiling if cut_off is None else cut_off)
        return None

    def raise_bound(self, bound: int) -> None:
        """Takes note that no order has a peak below `bound`."""
        self.bound = max(self.bound, bound)
        way = max(0, self.ceiling - 1 - self.bound)
        self._level = max(self._level, self.bound + int(way * self._stride))
        for end in self._ends:
            end.release(self._level)
