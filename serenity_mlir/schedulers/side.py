"""Moves of the downset search, forwards from the start or backwards from the end.

The memory model is symmetric in time: run backwards, buffers start where they ended, and the
bytes live while a node runs are the same. Both directions number the nodes alike, so the states
of one are the complements of states of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
        self.table: dict[int, tuple[int, Moves]] = {}
        for node in range(len(problem.nodes)):
            moves = self._moves(node)
            self.table[1 << node] = moves.depends_on, moves

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

    def forced(self, done: int, todo: int, level: int) -> list[int]:
        """An order in which the nodes of `todo` run after `done`, none of them by choice.

        One node, or nodes that each can run when its turn comes without raising live bytes and
        without a hill above `level`; any order of those will do, as their moves only get smaller.

        Raises:
            ValueError: There is no such order.
        """
        if not todo & (todo - 1):
            return list(bits(todo))
        order: list[int] = []
        live, stuck = self.live_after(done), False
        while todo and not stuck:
            stuck = True
            for node in bits(todo & self.ready_after(done)):
                depends_on, moves = self.table[1 << node]
                hill, net, _ = moves[done & depends_on]
                if net <= 0 and live + hill <= level:
                    order.append(node)
                    live, done, todo, stuck = live + net, done | 1 << node, todo ^ 1 << node, False
        if todo:
            raise ValueError("these nodes are not forced")
        return order

    def ready_after(self, done: int) -> int:
        """The nodes outside `done` all of whose predecessors are in it."""
        return sum(1 << node for node in bits(self.full & ~done) if not self._before[node] & ~done)

    def live_after(self, done: int) -> int:
        """Bytes live once exactly the nodes of `done` have run."""
        live = self.problem.base
        for storage, nodes in zip(self.problem.storages, self.problem.touching, strict=True):
            enters, leaves = storage.live_in, storage.live_out
            if self.backward:
                enters, leaves = leaves, enters
            if (enters or nodes & done) and (leaves or nodes & ~done):
                live += storage.size
        return live


def _mask(nodes: Sequence[int]) -> int:
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def _extremes(nodes: int, beyond: Sequence[int]) -> int:
    """Those of `nodes` that are not implied by others of them: nothing of `nodes` lies `beyond` them."""
    return sum(1 << node for node in bits(nodes) if not beyond[node] & nodes)
