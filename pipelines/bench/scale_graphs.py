"""Memory graphs of any size, each from a name and a seed: `ws64`, `nasnet50`, `local5000`."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from serenity_mlir.errors import UsageError
from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.pipelines.bench.wiring import watts_strogatz

_REACH = 20
"""How far back the ops of a local graph look."""

_SMALLEST = {"ws": 4, "ws-unit": 4}
"""Each of a Watts-Strogatz ring's nodes is tied to 4 before rewiring, which takes as many of them."""

_CELL = 32
"""Nodes of each cell of a stack of randomly wired ones."""


def named(name: str, seed: int) -> MemoryGraph:
    """The graph of a name such as `ws64`: a kind of `KINDS` and its size.

    Raises:
        UsageError: There is no such kind, or the size is missing or too small.
        SerenityError: networkx, which the kind needs, is not installed.
    """
    match = re.fullmatch(r"([a-z]+(?:-unit)?)([1-9][0-9]*)", name)
    if match is None or match[1] not in KINDS:
        raise UsageError(
            f"no graph '{name}'", hint=f"graphs are {', '.join(f'{kind}N' for kind in KINDS)}, as in ws64"
        )
    kind, size, smallest = match[1], int(match[2]), _SMALLEST.get(match[1], 1)
    if size < smallest:
        raise UsageError(f"no graph '{name}'", hint=f"the smallest of its kind is {kind}{smallest}")
    return KINDS[kind](size, seed)


def dataflow(preds: Sequence[Sequence[int]], sizes: Sequence[int]) -> MemoryGraph:
    """One result an op, live from the op to the last that names it as a predecessor."""
    return MemoryGraph(
        tuple(Op(f"op{op}", (op, *links)) for op, links in enumerate(preds)),
        tuple(Buffer(f"b{op}", size) for op, size in enumerate(sizes)),
        tuple(map(tuple, preds)),
    )


def wired(nodes: int, seed: int, *, unit: bool = False) -> MemoryGraph:
    """A WS(nodes, 4, 0.75) cell, edges from low to high, between one source and one sink.

    Each op makes one buffer of 1 to 100 bytes, or 1 byte each.
    """
    preds = _between(watts_strogatz(nodes, seed), 0)
    sizes = [1] * len(preds) if unit else np.random.default_rng(seed).integers(1, 101, len(preds)).tolist()
    return dataflow(preds, sizes)


def _between(sources: Sequence[Sequence[int]], first: int) -> list[list[int]]:
    """Predecessors of a cell whose source is op `first`, and whose sink is its last."""
    used = {link for links in sources for link in links}
    inner = [[first + 1 + link for link in links] or [first] for links in sources]
    return [[], *inner, [first + 1 + node for node in range(len(sources)) if node not in used]]


def stacked(cells: int, seed: int) -> MemoryGraph:
    """WS(32, 4, 0.75) cells one behind the other, each of a wiring of its own; 1 to 100 bytes a buffer."""
    preds: list[list[int]] = []
    for cell in range(cells):
        last = [[len(preds) - 1]] if preds else [[]]
        preds += last + _between(watts_strogatz(_CELL, seed * cells + cell), len(preds))[1:]
    return dataflow(preds, np.random.default_rng(seed).integers(1, 101, len(preds)).tolist())


def local(ops: int, seed: int) -> MemoryGraph:
    """Ops that use two of the last 20 results, of 1 to 100 bytes each: few cut nodes, much in common."""
    draw = random.Random(seed)  # noqa: S311  (no secret)
    preds = [sorted(draw.sample(range(max(0, op - _REACH), op), min(2, op))) for op in range(ops)]
    return dataflow(preds, [draw.randint(1, 100) for _ in range(ops)])


class _Net:
    """Layers that are appended one by one."""

    def __init__(self) -> None:
        self.preds: list[list[int]] = []
        self.sizes: list[int] = []

    def add(self, size: int, *inputs: int) -> int:
        self.preds.append(sorted(set(inputs)))
        self.sizes.append(size)
        return len(self.sizes) - 1

    def separable(self, x: int, size: int) -> int:
        """ReLU, depthwise and pointwise convolution, twice."""
        for _ in range(2):
            x = self.add(size, self.add(size, self.add(size, x)))
        return x


def nasnet(cells: int, seed: int) -> MemoryGraph:
    """NASNet-A normal cells (Zoph et al., CVPR 2018, figure 4), each reading the two before it.

    A feature map has 1024 bytes in the first third of the cells, half as many in each third after
    it. Ops are in an order that the seed draws among the legal ones, as exporters do as they like.
    """
    net = _Net()
    before = last = net.add(1024)
    for cell in range(cells):
        size = 1024 >> 3 * cell // cells
        h, p = (net.add(size, net.add(net.sizes[x], x)) for x in (last, before))
        made = [
            net.add(size, net.separable(h, size), net.separable(p, size)),
            net.add(size, net.separable(p, size), net.separable(p, size)),
            net.add(size, net.add(size, h), p),
            net.add(size, net.add(size, p), net.add(size, p)),
            net.add(size, net.separable(h, size), h),
        ]
        before, last = last, net.add(6 * size, p, *made)
    return _shuffled(net, seed)


def _shuffled(net: _Net, seed: int) -> MemoryGraph:
    """The net with its ops in a random legal order."""
    draw = random.Random(seed)  # noqa: S311  (no secret)
    users: list[list[int]] = [[] for _ in net.sizes]
    missing = [len(links) for links in net.preds]
    for op, links in enumerate(net.preds):
        for link in links:
            users[link].append(op)
    ready = [op for op, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        op = ready.pop(draw.randrange(len(ready)))
        order.append(op)
        for user in users[op]:
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    place = {op: step for step, op in enumerate(order)}
    preds = [sorted(place[link] for link in net.preds[op]) for op in order]
    return dataflow(preds, [net.sizes[op] for op in order])


KINDS: Mapping[str, Callable[[int, int], MemoryGraph]] = MappingProxyType(
    {
        "ws": wired,
        "ws-unit": lambda nodes, seed: wired(nodes, seed, unit=True),
        "randwire": stacked,
        "nasnet": nasnet,
        "local": local,
    }
)
"""Generators by name; what they are given is nodes, cells or ops, and a seed."""
