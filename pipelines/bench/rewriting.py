"""Identity graph rewriting of a topology, chosen by the peak (SERENITY, MLSys 2020, section 3.3).

A layer that reads a concatenation of x_1 .. x_n is *split*:

- a convolution into partial convolutions, one an x_i with its slice of the kernel, which add up in one
  buffer, in place (channel-wise partitioning). They run in any order; or, chained, in that of the
  concatenation, as tensor programs fix it where each partial convolution takes the sum so far;
- a layer that treats each channel by itself, a depthwise convolution above all, into partial layers, one an
  x_i, whose results are concatenated (kernel-wise partitioning). Who reads that can be split in its
  turn: so ReLU, batch normalisation and quantisation move through a concatenation;
- a concatenation of concatenations into nothing: it reads their parts.

A concatenation goes once nobody reads it whole, that is, if all its readers are split. The network
computes the same with as many multiplications, but for sums that are taken in another order. The
buffer of a sum has the size of its result: what wider numbers to add up in would take (int32 in an int8
network) is not counted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from time import perf_counter

from serenity_mlir.pipelines.bench.topology import Layer, Topology
from serenity_mlir.schedulers import Schedule, schedule
from serenity_mlir.subsets import best_subset

_ELEMENT_WISE = (
    *("Cast", "Clip", "Elu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "PRelu", "Relu"),
    *("Sigmoid", "Tanh", "BatchNormalization", "QuantizeLinear", "DequantizeLinear"),
)
CHANNEL_WISE = frozenset(
    ("DepthwiseConv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", *_ELEMENT_WISE)
)
"""Layers of one activation whose result for a channel depends on that channel alone."""

PARTIAL_CONV = "PartialConv"
"""Kind of what a convolution is split into."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The best choice of layers to split that was found.

    Attributes:
        topology: With those layers split.
        schedule: Of its memory graph.
        split: Names of the layers, in file order; none where it saves nothing.
    """

    topology: Topology
    schedule: Schedule
    split: tuple[str, ...]


def rewrite(
    topology: Topology, unchanged: Schedule, *, time_limit: float, chained: bool = False
) -> Rewritten:
    """Split the layers that least peak takes, and no others.

    Exhaustive up to four layers, anytime beyond (see `best_subset`); never worse than to split none.

    Args:
        topology: Is left as it is.
        unchanged: Schedule of its memory graph.
        time_limit: Seconds for the search. To split all layers is tried in any case.
        chained: Whether partial convolutions run in the order of what they read in the concatenation.
    """
    deadline = perf_counter() + time_limit
    sites = split(topology, [layer.name for layer in topology.layers], chained=chained)[1]
    found = {frozenset[str](): Rewritten(topology, unchanged, ())}

    def cost(names: frozenset[str]) -> float:
        if names not in found:
            changed, done = split(topology, names, chained=chained)
            left = max(deadline - perf_counter(), 0)
            found[names] = Rewritten(changed, schedule(changed.memory_graph(), time_limit=left), done)
        return found[names].schedule.peak

    best = best_subset(sites, cost, late=lambda: perf_counter() > deadline)
    return found[best]


def split(
    topology: Topology, names: Collection[str], *, chained: bool = False
) -> tuple[Topology, tuple[str, ...]]:
    """The topology with the named layers split, and the names of those that could be, in file order.

    A layer that reads no concatenation, or none whose parts are known, stays as it is.
    """
    work = _Splitting(topology, chained=chained)
    for layer in topology.layers:
        work.add(layer, wanted=layer.name in names)
    return work.finish(), tuple(work.done)


class _Splitting:
    """A topology that is made layer by layer from another one.

    Attributes:
        done: Names of the layers that were split.
    """

    def __init__(self, topology: Topology, *, chained: bool) -> None:
        self.done: list[str] = []
        self._chained = chained
        self._old, self._new = topology, Topology(topology.inputs, outputs=topology.outputs)
        self._sizes = topology.sizes()
        # What each concatenation consists of, channel after channel.
        self._parts: dict[str, tuple[str, ...]] = {}

    def add(self, layer: Layer, *, wanted: bool) -> None:
        """Add a layer, split if that is wanted and possible."""
        parts = self._parts.get(layer.inputs[0]) if len(layer.inputs) == 1 else None
        if layer.kind == "Concat":
            flat = [part for name in layer.inputs for part in self._parts.get(name, (name,))]
            if wanted and len(flat) > len(layer.inputs):
                self.done.append(layer.name)
                layer = replace(layer, inputs=tuple(flat))
            self._concat(layer)
        elif wanted and parts and layer.kind == "Conv":
            self.done.append(layer.name)
            for index, part in enumerate(parts):
                inputs = (part, layer.name) if self._chained and index else (part,)
                self._partial(replace(layer, kind=PARTIAL_CONV, inputs=inputs, into=layer.name))
        elif wanted and parts and layer.kind in CHANNEL_WISE and (sizes := self._shares(layer, parts)):
            self.done.append(layer.name)
            made = [
                self._partial(replace(layer, inputs=(part,), size=size))
                for part, size in zip(parts, sizes, strict=True)
            ]
            self._concat(replace(layer, kind="Concat", inputs=tuple(made)))
        else:
            self._new.layers.append(layer)

    def finish(self) -> Topology:
        """The new topology, without the concatenations that nobody reads any more."""
        needed = set(self._old.outputs)
        read_before = {name for layer in self._old.layers for name in layer.inputs}
        kept = []
        for layer in reversed(self._new.layers):
            if layer.kind != "Concat" or layer.name in needed or layer.name not in read_before:
                kept.append(layer)
                needed.update(layer.inputs)
        self._new.layers = kept[::-1]
        return self._new

    def _concat(self, layer: Layer) -> None:
        self._new.layers.append(layer)
        # Otherwise it has constant parts, or the sizes of sub-byte types are rounded.
        if sum(self._sizes[name] for name in layer.inputs) == layer.size:
            self._parts[layer.name] = layer.inputs

    def _partial(self, layer: Layer) -> str:
        """Add a part of a layer that reads `layer.inputs[0]`, and give it a name of its own."""
        name = f"{layer.name} of {layer.inputs[0]}"
        while name in self._sizes:
            name += "'"  # a part may be repeated
        self._sizes[name] = layer.size
        self._new.layers.append(replace(layer, name=name))
        return name

    def _shares(self, layer: Layer, parts: tuple[str, ...]) -> list[int]:
        """Bytes of the result for each part; none where sub-byte types leave no whole bytes."""
        whole = self._sizes[layer.inputs[0]]
        shares = [divmod(layer.size * self._sizes[part], whole) for part in parts]
        return [] if any(rest for _, rest in shares) else [share for share, _ in shares]
