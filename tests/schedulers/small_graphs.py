"""Small memory graphs of every kind, and their optimum by brute force."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st

from serenity_mlir.graph import Buffer, MemoryGraph, Op

SIZES = st.sampled_from([0, 1, 1, 2, 3, 5, 8, 13])


def build(preds: Sequence[Sequence[int]], buffers: Sequence[tuple[Buffer, Sequence[int]]]) -> MemoryGraph:
    """A graph from the predecessors of each op, and each buffer with the ops that touch it."""
    touches: list[list[int]] = [[] for _ in preds]
    for index, (_, ops) in enumerate(buffers):
        for op in sorted(set(ops)):
            touches[op].append(index)
    return MemoryGraph(
        tuple(Op(f"op{i}", tuple(indices)) for i, indices in enumerate(touches)),
        tuple(buffer for buffer, _ in buffers),
        tuple(tuple(sorted(set(links))) for links in preds),
    )


def dataflow(preds: Sequence[Sequence[int]], sizes: Sequence[int]) -> MemoryGraph:
    """One result an op, touched by the op and by all that name it as a predecessor."""
    users: list[list[int]] = [[op] for op in range(len(preds))]
    for op, links in enumerate(preds):
        for pred in links:
            users[pred].append(op)
    return build(preds, [(Buffer(f"b{op}", size), users[op]) for op, size in enumerate(sizes)])


def local(count: int, reach: int, seed: int) -> MemoryGraph:
    """Ops that use two of the last `reach` results."""
    draw = random.Random(seed)
    preds = [draw.sample(range(max(0, op - reach), op), min(2, op)) for op in range(count)]
    return dataflow(preds, [draw.randint(1, 100) for _ in range(count)])


@st.composite
def graphs(draw: st.DrawFn, most: int = 9) -> MemoryGraph:
    """Any graph: ties, several or no results, unused results, flags, ops that touch nothing."""
    count = draw(st.integers(0, most))
    sparse = draw(st.booleans())
    preds: list[list[int]] = []
    for op in range(count):
        mask = draw(st.integers(0, (1 << op) - 1))
        mask &= draw(st.integers(0, (1 << op) - 1)) if sparse else mask
        preds.append([pred for pred in range(op) if mask >> pred & 1])
    buffers = []
    for index in range(draw(st.integers(0, most + 3))):
        buffer = Buffer(f"b{index}", draw(SIZES), _rarely(draw), _rarely(draw))
        ops: list[int] = []
        if count:
            maker = draw(st.integers(0, count - 1))
            kind = draw(st.sampled_from(["result", "chain", "any"]))
            users = [op for op in range(count) if maker in preds[op]]
            if kind == "result":
                ops = [maker, *users]
            elif kind == "chain":  # an in-place update by the last user, and what reads it then
                ops = [maker, *users, *(op for op in range(count) if users and users[-1] in preds[op])]
            else:
                ops = draw(st.lists(st.integers(0, count - 1), max_size=4))
        buffers.append((buffer, ops))
    return build(preds, buffers)


@st.composite
def twins(draw: st.DrawFn) -> MemoryGraph:
    """Copies of one branch between a source and a sink, in file order or interleaved.

    Copies touch storage of their own, what the source made, and perhaps a buffer that all update.
    One copy may differ in one size.
    """
    length, copies = draw(st.sampled_from([(1, 4), (1, 6), (2, 3), (2, 4), (3, 3)]))
    inner = [[pred for pred in range(i) if draw(st.integers(0, 2))] for i in range(length)]
    sizes = draw(st.lists(SIZES, min_size=length, max_size=length))
    shared, interleaved, odd = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())

    def op(copy: int, i: int) -> int:
        return 1 + (i * copies + copy if interleaved else copy * length + i)

    total = length * copies
    preds: list[list[int]] = [[] for _ in range(total + 2)]
    buffers = [(Buffer("source", draw(SIZES)), [0, *(op(copy, 0) for copy in range(copies))])]
    for copy in range(copies):
        for i in range(length):
            preds[op(copy, i)] = [op(copy, j) for j in inner[i]] or [0]
            users = [op(copy, j) for j in range(i + 1, length) if i in inner[j]]
            size = sizes[i] + (odd and copy == copies - 1 and i == length - 1)
            buffers.append((Buffer(f"b{copy}.{i}", size), [op(copy, i), *(users or [total + 1])]))
    preds[total + 1] = list(range(1, total + 1))
    if shared:
        lasts = [op(copy, length - 1) for copy in range(copies)]
        buffers.append(
            (Buffer("shared", draw(SIZES)), [*lasts, *draw(st.sampled_from([[], [0], [total + 1]]))])
        )
    return build(preds, buffers)


def _rarely(draw: st.DrawFn) -> bool:
    return draw(st.integers(0, 6)) == 6


def optimum(graph: MemoryGraph) -> int:
    """The smallest peak of all legal orders: the best way to each set of ops, all sets in turn."""
    count = len(graph.ops)
    touching = [0] * len(graph.buffers)
    for op, item in enumerate(graph.ops):
        for index in item.touches:
            touching[index] |= 1 << op
    before = [sum(1 << pred for pred in preds) for preds in graph.preds]
    best = {0: 0}
    for done in range(1 << count):
        if done not in best:
            continue
        for op in range(count):
            after = done | 1 << op
            if after == done or before[op] & ~done:
                continue
            live = sum(
                buffer.size
                for buffer, ops in zip(graph.buffers, touching, strict=True)
                if (buffer.live_in or ops & after) and (buffer.live_out or ops & ~done)
            )
            peak = max(best[done], live)
            best[after] = min(best.get(after, peak), peak)
    return best[(1 << count) - 1]
