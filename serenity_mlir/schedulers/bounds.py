"""Lower bounds on the peak of every legal order, without search."""

from __future__ import annotations

from serenity_mlir.graph import MemoryGraph


def necessarily_live(graph: MemoryGraph) -> list[int]:
    """For each op the bytes that are live while it runs, whatever the order.

    A buffer necessarily is live then if the op touches it, or if it has been started (it is
    live-in, or an ancestor touches it) and is still to be used (a descendant touches it, or it
    is live-out). Sets of buffers are bitmasks, so this costs O((ops + edges) · buffers / word)
    plus the buffers counted.
    """
    sizes = [buffer.size for buffer in graph.buffers]
    touched = 0
    own = []
    for item in graph.ops:
        mask = 0
        for index in item.touches:
            if sizes[index]:
                mask |= 1 << index
        own.append(mask)
        touched |= mask
    entering = sum(1 << i for i, b in enumerate(graph.buffers) if b.size and b.live_in)
    leaving = sum(1 << i for i, b in enumerate(graph.buffers) if b.size and b.live_out)
    # Live-in and live-out buffers are live all the time, touched or not.
    always = entering & leaving
    base = sum(sizes[i] for i in range(len(sizes)) if always >> i & 1)
    entering &= touched & ~always
    leaving &= touched & ~always

    started = [entering] * len(graph.ops)
    for op, preds in enumerate(graph.preds):
        mask = own[op] | entering
        for pred in preds:
            mask |= started[pred]
        started[op] = mask
    needed = [leaving] * len(graph.ops)
    for op in range(len(graph.ops) - 1, -1, -1):
        mask = own[op] | leaving
        for succ in graph.succs[op]:
            mask |= needed[succ]
        needed[op] = mask
    return [base + _bytes_of(a & b & ~always, sizes) for a, b in zip(started, needed, strict=True)]


def lower_bound(graph: MemoryGraph) -> int:
    """The most bytes that some op necessarily finds live: no legal order has a smaller peak."""
    return max(necessarily_live(graph), default=0)


def _bytes_of(mask: int, sizes: list[int]) -> int:
    total = 0
    while mask:
        low = mask & -mask
        total += sizes[low.bit_length() - 1]
        mask ^= low
    return total
