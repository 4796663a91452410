"""The form in which the exact search sees a part of a memory graph.

A node is a sequence of ops that run without a break; a problem is what has to be ordered
between two cut nodes, after contraction. Sets of nodes are bitmasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from serenity_mlir.graph import MemoryGraph

LARGEST = 8192
"""Nodes beyond which a problem is not searched whole: the bitmasks of each state take too much memory."""


@dataclass(frozen=True, slots=True)
class Node:
    """Ops that run one directly after the other.

    Attributes:
        ops: Indices of the ops of the graph, in the order in which they run.
        hill: Position in `ops` of the step at which, whatever ran before, most bytes are live.
    """

    ops: tuple[int, ...]
    hill: int = 0


@dataclass(frozen=True, slots=True)
class Storage:
    """A buffer that at least one node of a problem touches.

    Attributes:
        size: Bytes, positive.
        spans: For each node that touches it the positions of the first and the last of the
            node's ops that do.
        live_in: Live before the problem's first node.
        live_out: Live after its last.
    """

    size: int
    spans: Mapping[int, tuple[int, int]]
    live_in: bool
    live_out: bool


@dataclass(frozen=True)
class Problem:
    """Nodes to be put in order so that the peak is minimal.

    Attributes:
        nodes: In a legal order.
        preds: For each node nodes that must come before it; with their predecessors they are all.
        storages: Buffers that nodes touch and that are not live throughout.
        base: Bytes that are live throughout.
    """

    nodes: tuple[Node, ...]
    preds: tuple[tuple[int, ...], ...]
    storages: tuple[Storage, ...]
    base: int

    @classmethod
    def of(cls, graph: MemoryGraph) -> Problem:
        """The problem of ordering a whole graph, each op a node of its own."""
        touching: list[list[int]] = [[] for _ in graph.buffers]
        for op, item in enumerate(graph.ops):
            for index in item.touches:
                touching[index].append(op)
        storages, base = [], 0
        for buffer, ops in zip(graph.buffers, touching, strict=True):
            if buffer.live_in and buffer.live_out:
                base += buffer.size
            elif buffer.size and ops:
                spans = dict.fromkeys(ops, (0, 0))
                storages.append(Storage(buffer.size, spans, buffer.live_in, buffer.live_out))
        nodes = tuple(Node((op,)) for op in range(len(graph.ops)))
        return cls(nodes, graph.preds, tuple(storages), base)

    @cached_property
    def succs(self) -> tuple[tuple[int, ...], ...]:
        """For each node those that name it as a predecessor, ascending."""
        out: list[list[int]] = [[] for _ in self.nodes]
        for node, preds in enumerate(self.preds):
            for pred in preds:
                out[pred].append(node)
        return tuple(tuple(succs) for succs in out)

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """For each node the bitmask of those that must come before it."""
        return _closure(range(len(self.nodes)), self.preds)

    @cached_property
    def descendants(self) -> tuple[int, ...]:
        """For each node the bitmask of those that must come after it."""
        return _closure(range(len(self.nodes) - 1, -1, -1), self.succs)

    @cached_property
    def touches(self) -> tuple[tuple[int, ...], ...]:
        """For each node the indices of the storages that it touches, ascending."""
        out: list[list[int]] = [[] for _ in self.nodes]
        for index, storage in enumerate(self.storages):
            for node in storage.spans:
                out[node].append(index)
        return tuple(tuple(indices) for indices in out)

    @cached_property
    def touching(self) -> tuple[int, ...]:
        """For each storage the bitmask of the nodes that touch it."""
        return tuple(sum(1 << node for node in storage.spans) for storage in self.storages)

    def profile(self, order: Sequence[int]) -> tuple[list[int], list[int]]:
        """The bytes live before each node and the most during it, when all run in `order`."""
        started = [storage.live_in for storage in self.storages]
        left = [len(storage.spans) for storage in self.storages]
        live = self.base + sum(storage.size for storage in self.storages if storage.live_in)
        before, hills = [], []
        for node in order:
            before.append(live)
            hill, step = live, self.nodes[node].hill
            for index in self.touches[node]:
                storage = self.storages[index]
                first, last = storage.spans[node]
                left[index] -= 1
                if not started[index]:
                    started[index] = True
                    live += storage.size
                    hill += storage.size if first <= step else 0
                if not left[index] and not storage.live_out:
                    live -= storage.size
                    hill -= storage.size if last < step else 0
            hills.append(hill)
        return before, hills

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes live at once when all nodes run in `order`; 0 without nodes."""
        return max(self.profile(order)[1], default=0)

    def ops_of(self, order: Sequence[int]) -> list[int]:
        """The ops of the graph, when the nodes run in `order`."""
        return [op for node in order for op in self.nodes[node].ops]


def _closure(order: Sequence[int], links: Sequence[Sequence[int]]) -> tuple[int, ...]:
    reached = [0] * len(links)
    for node in order:
        mask = 0
        for link in links[node]:
            mask |= reached[link] | 1 << link
        reached[node] = mask
    return tuple(reached)


def without_implied(preds: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """`preds`, which name only smaller indices, without those that other predecessors imply."""
    reached: list[int] = []
    out = []
    for links in preds:
        mask, kept = 0, []
        for link in sorted(links, reverse=True):
            if not mask >> link & 1:
                kept.append(link)
                mask |= reached[link] | 1 << link
        reached.append(mask)
        out.append(tuple(kept[::-1]))
    return tuple(out)


def bits(mask: int) -> Iterator[int]:
    """The positions of the set bits of `mask`, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Partition:
    """A problem cut into parts that run wholly one after the other, each a problem of its own."""

    def __init__(self, whole: Problem, parts: Sequence[Sequence[int]]) -> None:
        """`parts`: the nodes of each part, ascending; every node in one part, no predecessor in a later."""
        self._whole = whole
        self._parts = parts
        part_of = [0] * len(whole.nodes)
        for part, nodes in enumerate(parts):
            for node in nodes:
                part_of[node] = part
        end = len(parts) - 1
        self._first = [0 if s.live_in else min(part_of[node] for node in s.spans) for s in whole.storages]
        self._last = [end if s.live_out else max(part_of[node] for node in s.spans) for s in whole.storages]
        change = [0] * (len(parts) + 1)
        for storage, first, last in zip(whole.storages, self._first, self._last, strict=True):
            change[first] += storage.size
            change[last + 1] -= storage.size
        self._live = [whole.base + live for live in accumulate(change[:-1])]

    def problem(self, part: int) -> Problem:
        """The problem of ordering the nodes of one part, which are numbered in the order given."""
        whole, nodes, base = self._whole, self._parts[part], self._live[part]
        local = {node: index for index, node in enumerate(nodes)}
        storages = []
        for index in sorted({index for node in nodes for index in whole.touches[node]}):
            storage = whole.storages[index]
            live_in = storage.live_in or self._first[index] < part
            live_out = storage.live_out or self._last[index] > part
            if not (live_in and live_out):
                base -= storage.size
                spans = {local[node]: span for node, span in storage.spans.items() if node in local}
                storages.append(Storage(storage.size, spans, live_in, live_out))
        preds = [[local[pred] for pred in whole.preds[node] if pred in local] for node in nodes]
        chosen = tuple(whole.nodes[node] for node in nodes)
        return Problem(chosen, without_implied(preds), tuple(storages), base)
