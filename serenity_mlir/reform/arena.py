"""A quick estimate of what a compiled variant takes: activations live at once, and bytes of constants.

The estimate steers the choice of channels; what holds is what the compiled variant is measured to take. The
network is scheduled once, unpruned, and its order kept: a bound on the live peak of each variant's own order,
as IREE would have it if it stored just the results of layers, pools and concats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import live_ranges
from serenity_mlir.reform.costs import constant_tensors
from serenity_mlir.reform.groups import ChannelGroup
from serenity_mlir.reform.kept_shapes import Kept, KeptShapes
from serenity_mlir.reform.network import Network, Node
from serenity_mlir.schedulers import schedule

_TIME_LIMIT = 2.0

# Compiled into the op that makes their operand, or no op at all.
_FUSED = {
    "Abs", "Add", "BatchNormalization", "Cast", "Ceil", "Clip", "DequantizeLinear", "Div", "Elu", "Erf",
    "Exp", "Flatten", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "Max",
    "Min", "Mul", "Neg", "PRelu", "Pow", "QuantizeLinear", "Reciprocal", "Relu", "Reshape", "Round", "Selu",
    "Sigmoid", "Softplus", "Softsign", "Sqrt", "Squeeze", "Sub", "Tanh", "ThresholdedRelu", "Unsqueeze",
}  # fmt: skip


class ArenaModel:
    """Live bytes of activations at each step, and bytes of constants, with any number of channels kept."""

    def __init__(self, network: Network, groups: Sequence[ChannelGroup]) -> None:
        """Schedule a network.

        Raises:
            SerenityError: A result has no constant size.
        """
        self._shapes = KeptShapes(network, groups)
        constant = constant_tensors(network)
        nodes = [node for node in network.nodes if not set(node.outputs) <= constant]
        used = {name for node in nodes for name in node.inputs if name} | set(network.outputs)
        self._constants = {name: self._shapes.groups_of(name) for name in sorted(used & constant)}
        self._known: dict[str, dict[tuple[int | None, ...], int]] = defaultdict(dict)
        self._of_group: dict[int, list[str]] = defaultdict(list)
        for name, touched in self._constants.items():
            for group in touched:
                self._of_group[group].append(name)
        buffers = _buffers(network, nodes)
        self._columns = {group.id: column for column, group in enumerate(groups)}
        self._linear(buffers)
        graph = _graph(network, nodes, buffers, self._buffer_sizes({}).tolist())
        ranges = live_ranges(graph, schedule(graph, time_limit=_TIME_LIMIT).order)
        steps = np.arange(len(graph.ops))[:, None]
        starts, ends = np.array([item.start for item in ranges]), np.array([item.end for item in ranges])
        self._live = ((steps >= starts) & (steps < ends)).astype(np.int64)

    def constants(self, kept: Kept) -> int:
        """Bytes of the constants that nodes read."""
        return sum(self._constant(name, kept) for name in self._constants)

    def constants_per_channel(self, group: int, kept: Kept) -> int:
        """Bytes of constants saved when one more channel of a group is dropped."""
        less = {**kept, group: kept.get(group, self._shapes.sizes[group]) - 1}
        return sum(self._constant(name, kept) - self._constant(name, less) for name in self._of_group[group])

    def live(self, kept: Kept) -> npt.NDArray[np.int64]:
        """Live bytes at each step."""
        return np.asarray(self._live @ self._buffer_sizes(kept), dtype=np.int64)

    def peak_per_channel(self, kept: Kept, steps: npt.NDArray[np.bool_]) -> dict[int, int]:
        """For each group the bytes saved over those steps when one more channel of it is dropped."""
        sizes = self._sizes(kept)
        largest = [start + int(np.argmax(part)) for start, part in self._places(sizes)]
        saved = self._live[steps].sum(axis=0) @ self._slopes[largest]
        return {group: int(saved[column]) for group, column in self._columns.items()}

    def _linear(self, buffers: Sequence[Sequence[str]]) -> None:
        """Sizes of tensors as they are, and what each loses with a channel of each group."""
        names = [name for place in buffers for name in place]
        self._starts = np.cumsum([0, *(len(place) for place in buffers)])[:-1]
        self._whole = np.array([self._shapes.size(name, {}) for name in names], dtype=np.int64)
        self._slopes = np.zeros((len(names), len(self._columns)), dtype=np.int64)
        for row, name in enumerate(names):
            for group in self._shapes.groups_of(name):
                less = self._shapes.size(name, {group: self._shapes.sizes[group] - 1})
                self._slopes[row, self._columns[group]] = self._whole[row] - less

    def _places(self, sizes: npt.NDArray[np.int64]) -> list[tuple[int, npt.NDArray[np.int64]]]:
        if not len(sizes):
            return []
        return list(zip(self._starts.tolist(), np.split(sizes, self._starts[1:]), strict=True))

    def _sizes(self, kept: Kept) -> npt.NDArray[np.int64]:
        dropped = np.zeros(len(self._columns), dtype=np.int64)
        for group, column in self._columns.items():
            size = self._shapes.sizes[group]
            dropped[column] = size - kept.get(group, size)
        return np.maximum(self._whole - self._slopes @ dropped, 0)

    def _buffer_sizes(self, kept: Kept) -> npt.NDArray[np.int64]:
        sizes = self._sizes(kept)
        return np.maximum.reduceat(sizes, self._starts) if len(sizes) else sizes

    def _constant(self, name: str, kept: Kept) -> int:
        key = tuple(kept.get(group) for group in self._constants[name])
        known = self._known[name]
        if key not in known:
            known[key] = self._shapes.size(name, kept)
        return known[key]


def _buffers(network: Network, nodes: Sequence[Node]) -> list[list[str]]:
    """Results that share storage, each with what it is fused with; what callers own is left out."""
    home: dict[str, list[str]] = {}
    found: list[list[str]] = []
    for node in nodes:
        for name in filter(None, node.outputs):
            source = _overwritten(network, node)
            place = home.get(source, []) if source else []
            if not place:
                found.append(place)
            place.append(name)
            home[name] = place
    owned = set(network.outputs)
    return [place for place in found if not owned & set(place)]


def _overwritten(network: Network, node: Node) -> str:
    """The operand in whose storage a fused result goes: the first that nobody else reads."""
    if node.op not in _FUSED:
        return ""
    made = [name for name in node.inputs if name in network.producers]
    return next((name for name in made if len(network.consumers[name]) == 1), "")


def _graph(
    network: Network, nodes: Sequence[Node], buffers: Sequence[Sequence[str]], sizes: Sequence[int]
) -> MemoryGraph:
    of_tensor = {name: index for index, place in enumerate(buffers) for name in place}
    position = {node.name: index for index, node in enumerate(nodes)}
    ops, preds = [], []
    for node in nodes:
        names = [name for name in (*node.inputs, *node.outputs) if name in of_tensor]
        ops.append(Op(node.name, tuple(dict.fromkeys(of_tensor[name] for name in names))))
        before = [network.producers[name] for name in node.inputs if name in network.producers]
        preds.append(tuple(dict.fromkeys(position[item.name] for item in before if item.name in position)))
    return MemoryGraph(
        tuple(ops),
        tuple(Buffer(place[0], size) for place, size in zip(buffers, sizes, strict=True)),
        tuple(preds),
    )
