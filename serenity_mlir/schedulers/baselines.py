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

    The change that an op makes depends on what has run only through buffers that it would
    start or end; a heap entry is renewed exactly when one of those is started or down to its
    last op, so that the whole costs O(touches · log ops).
    """
    touching: list[list[int]] = [[] for _ in graph.buffers]
    for op, item in enumerate(graph.ops):
        for buffer in item.touches:
            touching[buffer].append(op)
    started = [buffer.live_in for buffer in graph.buffers]
    untouched = [len(ops) for ops in touching]
    net = [0] * len(graph.ops)
    for index, buffer in enumerate(graph.buffers):
        for op in touching[index]:
            net[op] += 0 if buffer.live_in else buffer.size
            net[op] -= buffer.size if untouched[index] == 1 and not buffer.live_out else 0

    missing = [len(preds) for preds in graph.preds]
    done = [False] * len(graph.ops)
    ready = [(net[op], op) for op, count in enumerate(missing) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        change, op = heapq.heappop(ready)
        if done[op] or change != net[op]:
            continue
        done[op] = True
        order.append(op)
        for index in graph.ops[op].touches:
            size, changed = graph.buffers[index].size, []
            untouched[index] -= 1
            if not started[index]:
                started[index] = True
                changed = [other for other in touching[index] if not done[other]]
                for other in changed:
                    net[other] -= size
            if untouched[index] == 1 and not graph.buffers[index].live_out:
                changed = [other for other in touching[index] if not done[other]]
                net[changed[0]] -= size
            for other in changed:
                if missing[other] == 0:
                    heapq.heappush(ready, (net[other], other))
        for succ in graph.succs[op]:
            missing[succ] -= 1
            if missing[succ] == 0:
                heapq.heappush(ready, (net[succ], succ))
    return tuple(order)


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
