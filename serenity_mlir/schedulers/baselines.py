"""Orders that cost next to nothing: what compilers do today, and where the exact search starts.

All are iterative (graphs are chains of thousands of ops) and near-linear.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from serenity_mlir.graph import MemoryGraph


def file_order(graph: MemoryGraph) -> tuple[int, ...]:
    """The order in which the ops are stored."""
    return graph.file_order


def kahn(graph: MemoryGraph) -> tuple[int, ...]:
    """Breadth first: ops leave a first-in first-out queue that they enter when they become ready."""
    missing = [len(preds) for preds in graph.preds]
    queue = deque(op for op, count in enumerate(missing) if count == 0)
    order = []
    while queue:
        op = queue.popleft()
        order.append(op)
        for succ in graph.succs[op]:
            missing[succ] -= 1
            if missing[succ] == 0:
                queue.append(succ)
    return tuple(order)


def depth_first(graph: MemoryGraph) -> tuple[int, ...]:
    """Depth first: the op that became ready last runs next, and of several the first in file order."""
    missing = [len(preds) for preds in graph.preds]
    stack = [op for op, count in enumerate(missing) if count == 0][::-1]
    order = []
    while stack:
        op = stack.pop()
        order.append(op)
        for succ in reversed(graph.succs[op]):
            missing[succ] -= 1
            if missing[succ] == 0:
                stack.append(succ)
    return tuple(order)


def reverse_post_order(graph: MemoryGraph) -> tuple[int, ...]:
    """The reverse of the order in which a depth-first walk along successors leaves the ops."""
    seen = [False] * len(graph.ops)
    left: list[int] = []
    for root in range(len(graph.ops)):
        if graph.preds[root]:
            continue
        seen[root] = True
        stack = [(root, iter(graph.succs[root]))]
        while stack:
            op, succs = stack[-1]
            for succ in succs:
                if not seen[succ]:
                    seen[succ] = True
                    stack.append((succ, iter(graph.succs[succ])))
                    break
            else:
                left.append(op)
                stack.pop()
    return tuple(reversed(left))


def greedy(graph: MemoryGraph) -> tuple[int, ...]:
    """Always the ready op that leaves the fewest bytes live, the first in file order among equals.

    Takes O(touches · log ops): see `_Changes`.
    """
    changes = _Changes(graph)
    missing = [len(preds) for preds in graph.preds]
    ready = [(changes.of[op], op) for op, count in enumerate(missing) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        change, op = heapq.heappop(ready)
        if changes.done[op] or change != changes.of[op]:
            continue
        order.append(op)
        renewed = changes.run(op)
        for succ in graph.succs[op]:
            missing[succ] -= 1
            if missing[succ] == 0:
                renewed.add(succ)
        for other in renewed:
            if missing[other] == 0:
                heapq.heappush(ready, (changes.of[other], other))
    return tuple(order)


class _Changes:
    """By how much each op would change live bytes if it ran next.

    That depends on what has run only through buffers that the op would start or end, so it is
    renewed exactly when one of those is started, or is down to its last op.

    Attributes:
        of: The change for each op.
        done: Whether the op has run.
    """

    def __init__(self, graph: MemoryGraph) -> None:
        self._graph = graph
        self._touching: list[list[int]] = [[] for _ in graph.buffers]
        for op, item in enumerate(graph.ops):
            for index in item.touches:
                self._touching[index].append(op)
        self._started = [buffer.live_in for buffer in graph.buffers]
        self._left = [len(ops) for ops in self._touching]
        self.done = [False] * len(graph.ops)
        self.of = [0] * len(graph.ops)
        for index, buffer in enumerate(graph.buffers):
            for op in self._touching[index]:
                self.of[op] += 0 if buffer.live_in else buffer.size
                self.of[op] -= buffer.size if self._left[index] == 1 and not buffer.live_out else 0

    def run(self, op: int) -> set[int]:
        """Runs an op; returns those whose change is another now."""
        self.done[op] = True
        renewed: set[int] = set()
        for index in self._graph.ops[op].touches:
            buffer = self._graph.buffers[index]
            self._left[index] -= 1
            starts, ends = not self._started[index], self._left[index] == 1 and not buffer.live_out
            if starts or ends:
                others = [other for other in self._touching[index] if not self.done[other]]
                for other in others:
                    self.of[other] -= buffer.size * (starts + ends)
                renewed.update(others)
                self._started[index] = True
        return renewed


BASELINES: Mapping[str, Callable[[MemoryGraph], tuple[int, ...]]] = MappingProxyType(
    {
        "file-order": file_order,
        "kahn": kahn,
        "depth-first": depth_first,
        "reverse-post-order": reverse_post_order,
        "greedy": greedy,
    }
)
"""Every baseline by the name that reports use, file order first."""
