"""The form in which the exact search sees a part of a memory graph.

A node is a sequence of ops that run without a break; a problem is what has to be ordered
between two cut nodes, after contraction. Sets of nodes are bitmasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from serenity_mlir.graph import MemoryGraph


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
        nodes: The same nodes as a bitmask.
        live_in: Live before the problem's first node.
        live_out: Live after its last.
    """

    size: int
    spans: dict[int, tuple[int, int]]
    nodes: int
    live_in: bool
    live_out: bool


@dataclass(frozen=True)
class Problem:
    """Nodes to be put in order so that the peak is minimal.

    Attributes:
        nodes: In a legal order.
        preds: For each node the nodes that must come before it: direct predecessors, none of
            which is implied by the others.
        storages: Buffers that nodes touch and that are not live throughout.
        base: Bytes that are live throughout.
    """

    nodes: tuple[Node, ...]
    preds: tuple[tuple[int, ...], ...]
    storages: tuple[Storage, ...]
    base: int

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
    """A graph cut into parts that run wholly one after the other, each a problem of its own."""

    def __init__(self, graph: MemoryGraph, parts: Sequence[Sequence[int]]) -> None:
        """`parts`: the ops of each part, ascending; every op in one part, every predecessor no later."""
        self.graph = graph
        self.parts = parts
        self._part_of = [0] * len(graph.ops)
        for index, ops in enumerate(parts):
            for op in ops:
                self._part_of[op] = index
        end = len(parts) - 1
        self._first = [0 if buffer.live_in else end + 1 for buffer in graph.buffers]
        self._last = [end if buffer.live_out else -1 for buffer in graph.buffers]
        for op, item in enumerate(graph.ops):
            part = self._part_of[op]
            for index in item.touches:
                self._first[index] = min(self._first[index], part)
                self._last[index] = max(self._last[index], part)
        self._live = self._live_per_part()

    def _live_per_part(self) -> list[int]:
        change = [0] * (len(self.parts) + 1)
        for buffer, first, last in zip(self.graph.buffers, self._first, self._last, strict=True):
            if first <= last:
                change[first] += buffer.size
                change[last + 1] -= buffer.size
        return list(accumulate(change[:-1]))

    def problem(self, part: int) -> Problem:
        """The problem of ordering the ops of one part."""
        graph, ops, base = self.graph, self.parts[part], self._live[part]
        local = {op: node for node, op in enumerate(ops)}
        touching: dict[int, list[int]] = {}
        for node, op in enumerate(ops):
            for index in graph.ops[op].touches:
                touching.setdefault(index, []).append(node)
        storages = []
        for index, nodes in touching.items():
            buffer = graph.buffers[index]
            live_in = buffer.live_in or self._first[index] < part
            live_out = buffer.live_out or self._last[index] > part
            if buffer.size and not (live_in and live_out):
                base -= buffer.size
                mask = sum(1 << node for node in nodes)
                storages.append(Storage(buffer.size, dict.fromkeys(nodes, (0, 0)), mask, live_in, live_out))
        preds = [[local[pred] for pred in graph.preds[op] if pred in local] for op in ops]
        return Problem(tuple(Node((op,)) for op in ops), without_implied(preds), tuple(storages), base)
