"""Moves of the downset search, forwards from the start or backwards from the end.

The memory model is symmetric in time: run backwards, buffers start where they ended, and the
bytes live while a node runs are the same. Both directions number the nodes alike, so the states
of one are the complements of states of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.problem import Problem, bits

Condition = tuple[int, int]
"""Nodes and a size in bytes that counts if none of them has run, or if all of them have."""

_CACHED = 100_000
"""Moves that one direction keeps in mind, in equal shares for each node."""


class Moves(dict[int, tuple[int, int, int]]):
    """What running one node does, by those of the nodes run so far on which that depends.

    Values are the bytes by which its hill rises above the bytes live before it, the change of
    live bytes that it leaves, and the nodes that become ready. No more than `room` are kept.
    """

    def __init__(self, hill: _Sum, net: _Sum, waiting: Iterable[tuple[int, int]], room: int) -> None:
        super().__init__()
        self._hill = hill
        self._net = net
        self._waiting = tuple(waiting)
        self._room = room

    def __missing__(self, done: int) -> tuple[int, int, int]:
        ready = 0
        for bit, missing in self._waiting:
            if not missing & ~done:
                ready |= bit
        move = self._hill.value(done), self._net.value(done), ready
        if len(self) < self._room:
            self[done] = move
        return move

    @property
    def depends_on(self) -> int:
        """The nodes whose having run or not makes a difference."""
        mask = self._hill.depends_on | self._net.depends_on
        for _, missing in self._waiting:
            mask |= missing
        return mask


class _Sum:
    """Bytes that depend on the set of nodes that have run."""

    def __init__(self) -> None:
        self.constant = 0
        self.starts: list[Condition] = []
        self.ends: list[Condition] = []

    def value(self, done: int) -> int:
        total = self.constant
        for nodes, size in self.starts:
            if not nodes & done:
                total += size
        for nodes, size in self.ends:
            if not nodes & ~done:
                total -= size
        return total

    @property
    def depends_on(self) -> int:
        mask = 0
        for nodes, _ in self.starts + self.ends:
            mask |= nodes
        return mask


class _Table(dict[int, tuple[int, Moves]]):
    """Moves of the nodes that were asked for: making all at once takes large problems a second."""

    def __init__(self, moves: Callable[[int], Moves]) -> None:
        super().__init__()
        self._moves = moves

    def __missing__(self, bit: int) -> tuple[int, Moves]:
        moves = self._moves(bit.bit_length() - 1)
        self[bit] = moves.depends_on, moves
        return self[bit]


class Side:
    """One direction of search over a problem.

    Attributes:
        full: The set of all nodes.
        ready: The nodes that can run first.
        live: Bytes live before the first.
        table: For each node, by its bit, the nodes on which its moves depend, and its moves.
    """

    def __init__(self, problem: Problem, *, backward: bool) -> None:
        self.problem = problem
        self.backward = backward
        self.preds, self.succs = (
            (problem.succs, problem.preds) if backward else (problem.preds, problem.succs)
        )
        self._before, self._after = (
            (problem.descendants, problem.ancestors) if backward else (problem.ancestors, problem.descendants)
        )
        self.full = (1 << len(problem.nodes)) - 1
        self.ready = sum(1 << node for node, preds in enumerate(self.preds) if not preds)
        entering = (s.live_out if backward else s.live_in for s in problem.storages)
        self.live = problem.base + sum(
            s.size for s, enters in zip(problem.storages, entering, strict=True) if enters
        )
        self.table: Mapping[int, tuple[int, Moves]] = _Table(self._moves)

    def prepare(self, budget: Budget) -> bool:
        """Makes all moves; whether the budget sufficed. A state may ask for thousands of them at once."""
        for node in range(len(self.problem.nodes)):
            if budget.spent:
                return False
            self.table[1 << node]
        return True

    def _moves(self, node: int) -> Moves:
        hill, net, bit = _Sum(), _Sum(), 1 << node
        steps = len(self.problem.nodes[node].ops)
        peak = self.problem.nodes[node].hill
        if self.backward:
            peak = steps - 1 - peak
        for index in self.problem.touches[node]:
            storage = self.problem.storages[index]
            first, last = storage.spans[node]
            enters, leaves = storage.live_in, storage.live_out
            if self.backward:
                first, last = steps - 1 - last, steps - 1 - first
                enters, leaves = leaves, enters
            others = self.problem.touching[index] & ~bit
            sums = [net, hill] if first <= peak else [net]
            if not enters and not others & self._before[node]:
                early = _extremes(others & ~self._after[node], self._before)
                for total in sums:
                    total.starts.append((early, storage.size))
            sums = [net, hill] if last < peak else [net]
            if not leaves and not others & self._after[node]:
                late = _extremes(others & ~self._before[node], self._after)
                for total in sums:
                    total.ends.append((late, storage.size))
        for total in (hill, net):
            total.constant += sum(size for nodes, size in total.starts if not nodes)
            total.constant -= sum(size for nodes, size in total.ends if not nodes)
            total.starts = [condition for condition in total.starts if condition[0]]
            total.ends = [condition for condition in total.ends if condition[0]]
        waiting = [(1 << succ, _mask(self.preds[succ]) & ~bit) for succ in self.succs[node]]
        return Moves(hill, net, waiting, _CACHED // len(self.problem.nodes))

    def path(self, states: Sequence[int], level: int) -> list[int]:
        """The nodes by which a search went from one state to the next, in an order.

        From state to state one node ran by choice, or several of which each could run when its turn
        came without raising live bytes and without a hill above `level`, or was the only one left
        that was ready. Any order of the former will do, as their moves only get smaller.

        Raises:
            ValueError: The search cannot have gone this way.
        """
        order: list[int] = []
        done, live = states[0], self.live
        for state in states[1:]:
            while todo := state & ~done:
                ready = [node for node in bits(todo) if not self._before[node] & ~done]
                for node in ready:
                    depends_on, moves = self.table[1 << node]
                    hill, net, _ = moves[done & depends_on]
                    if live + hill <= level and (net <= 0 or len(ready) == 1):
                        order.append(node)
                        done, live = done | 1 << node, live + net
                        break
                else:
                    raise ValueError("no path between these states")
        return order


class Sides:
    """Both directions of search over a problem."""

    def __init__(self, problem: Problem) -> None:
        self.forward = Side(problem, backward=False)
        self.backward = Side(problem, backward=True)


def _mask(nodes: Sequence[int]) -> int:
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def _extremes(nodes: int, beyond: Sequence[int]) -> int:
    """Those of `nodes` that are not implied by others of them: nothing of `nodes` lies `beyond` them."""
    return sum(1 << node for node in bits(nodes) if not beyond[node] & nodes)
