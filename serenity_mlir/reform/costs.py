"""What a network costs: multiply-accumulates, memory, energy and latency (ReForm, Eq. 1-3 and 11-13).

Every cost is a function of how many channels each coupled group keeps, so that a layer's filters become
cheaper as its neighbours shrink. Biases and what is no layer (pools, sums) cost nothing here, as in the
paper; what a compiled model takes is another matter (`serenity_mlir.reform.arena`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from serenity_mlir.errors import UsageError
from serenity_mlir.reform.groups import ChannelGroup
from serenity_mlir.reform.kept_shapes import Kept, KeptShapes, bits
from serenity_mlir.reform.network import Network, Node
from serenity_mlir.reform.profile import Profile

_OPERANDS = {
    "Conv": (0, 1),
    "ConvTranspose": (0, 1),
    "Gemm": (0, 1),
    "MatMul": (0, 1),
    "ConvInteger": (0, 1),
    "MatMulInteger": (0, 1),
    "QLinearConv": (0, 3),
    "QLinearMatMul": (0, 3),
}
"""Ops that multiply and accumulate: which input is the map, which the filters."""

_STORED_BEHIND = ("DequantizeLinear", "Identity", "Reshape", "Transpose", "Cast")
"""Between stored filters and the op that takes them."""

_PICO_TO_MILLI = 1e-9


@dataclass(frozen=True, slots=True)
class Resources:
    """Of one inference.

    Attributes:
        macs: Multiply-accumulates (Eq. 1).
        memory: Bytes of filters and of all layers' output maps (Eq. 2).
        energy: Millijoules (Eq. 3).
        latency: Milliseconds: `macs` at the processor's rate.
    """

    macs: float
    memory: float
    energy: float
    latency: float

    def __sub__(self, other: Resources) -> Resources:
        return Resources(
            self.macs - other.macs,
            self.memory - other.memory,
            self.energy - other.energy,
            self.latency - other.latency,
        )


@dataclass(frozen=True, slots=True)
class Layer:
    """One op that multiplies and accumulates.

    Attributes:
        node: Its name.
        op: Its kind.
        left: Its first operand, which is the map but where a product has its filters on the left.
        weight: Its filters, as it takes them.
        stored: The constant that they are stored in; empty where they are computed.
        output: The map that it makes.
        transposed: Whether a Gemm takes its first operand transposed.
        bits: Of a filter's element, and of the output map's.
        mac_energy: Picojoules of one multiply-accumulate.
    """

    node: str
    op: str
    left: str
    weight: str
    stored: str
    output: str
    transposed: bool
    bits: tuple[int, int]
    mac_energy: float


class CostModel:
    """Costs of one network with any number of channels kept."""

    def __init__(self, network: Network, profile: Profile, groups: Sequence[ChannelGroup] = ()) -> None:
        """Find the layers of a network.

        Args:
            network: Unpruned.
            profile: Of the device.
            groups: What may shrink; without them the costs are those of the network as it is.

        Raises:
            SerenityError: A layer has no constant size.
            UsageError: The profile has no energy for a layer's element type.
        """
        self.profile = profile
        self.shapes = KeptShapes(network, groups)
        constant = constant_tensors(network)
        self.layers = tuple(
            _layer(network, profile, node, constant)
            for node in network.nodes
            if node.op in _OPERANDS and node.outputs[0] not in constant
        )
        self._first_use = {item.stored: item.node for item in reversed(self.layers) if item.stored}
        self._touched: dict[int, list[Layer]] = defaultdict(list)
        self._groups: dict[str, tuple[int, ...]] = {}
        # Most layers are as they were when one more channel goes somewhere else.
        self._known: dict[str, dict[tuple[int | None, ...], tuple[float, float, float]]] = defaultdict(dict)
        for layer in self.layers:
            self._groups[layer.node] = self.shapes.groups_of(layer.left, layer.weight, layer.output)
            for group in self._groups[layer.node]:
                self._touched[group].append(layer)
        self.total()  # says what is wrong with a size before anybody relies on it

    def total(self, kept: Kept | None = None) -> Resources:
        """Costs of the entire network with `kept` channels of each group."""
        return self._sum(self.layers, kept or {})

    def by_layer(self, kept: Kept | None = None) -> dict[str, Resources]:
        """Costs of each layer, by its node's name."""
        return {layer.node: self._sum((layer,), kept or {}) for layer in self.layers}

    def per_channel(self, group: int, kept: Kept) -> Resources:
        """What is saved when one more channel of a group is dropped (Eq. 11-13, for any coupling)."""
        layers = self._touched[group]
        count = kept.get(group, self.shapes.sizes[group])
        return self._sum(layers, kept) - self._sum(layers, {**kept, group: count - 1})

    def touched(self, group: int) -> tuple[str, ...]:
        """Nodes whose costs depend on a group, in file order."""
        return tuple(layer.node for layer in self._touched[group])

    def _sum(self, layers: Sequence[Layer], kept: Kept) -> Resources:
        macs = memory_bits = energy = 0.0
        for layer in layers:
            key = tuple(kept.get(group) for group in self._groups[layer.node])
            known = self._known[layer.node]
            if key not in known:
                known[key] = self._one(layer, kept)
            macs += known[key][0]
            memory_bits += known[key][1]
            energy += known[key][2]
        rate = self.profile.processor.macs_per_second
        return Resources(macs, memory_bits / 8, energy * _PICO_TO_MILLI, macs / rate * 1e3)

    def _one(self, layer: Layer, kept: Kept) -> tuple[float, float, float]:
        """Multiply-accumulates, bits, and picojoules of one layer."""
        weight, output = self.shapes.shape(layer.weight, kept), self.shapes.shape(layer.output, kept)
        count = float(_macs(layer, self.shapes.shape(layer.left, kept), weight, output))
        # Filters that several layers share are stored and fetched once.
        owned = bool(layer.stored) and self._first_use[layer.stored] == layer.node
        weight_bits = float(layer.bits[0] * prod(weight) if owned else 0)
        map_bits = float(layer.bits[1] * prod(output))
        given = self.profile.energy
        energy = layer.mac_energy * count + given.weight_bit * weight_bits + given.activation_bit * map_bits
        return count, weight_bits + map_bits, energy


def constant_tensors(network: Network) -> set[str]:
    """What does not depend on the network's inputs: constants, and what is computed of nothing else."""
    constant = {name for name, tensor in network.tensors.items() if tensor.value is not None}
    for node in network.nodes:
        if node.inputs and all(name in constant for name in node.inputs if name):
            constant.update(node.outputs)
    return constant


def _layer(network: Network, profile: Profile, node: Node, constant: Collection[str]) -> Layer:
    left, weight = (node.inputs[index] for index in _OPERANDS[node.op])
    output = node.outputs[0]
    if weight not in constant and "Conv" not in node.op and left in constant:
        weight = left
    stored = _stored(network, weight) if weight in constant else ""
    kind = network.tensors[stored or weight].dtype
    if kind not in profile.energy.mac:
        raise UsageError(
            f"profile '{profile.name}' has no energy for a multiply-accumulate of {kind}",
            where=str(node),
            hint="give it one under [energy.mac], or name another profile",
        )
    given = profile.bits
    return Layer(
        node=node.name,
        op=node.op,
        left=node.inputs[_OPERANDS[node.op][0]],
        weight=weight,
        stored=stored,
        output=output,
        transposed=node.op == "Gemm" and bool(node.integer("transA", 0)),
        bits=(
            given.tensors.get(stored or weight, given.weights or bits(kind)),
            given.tensors.get(output, given.activations or bits(_map_type(network, output))),
        ),
        mac_energy=profile.energy.mac[kind],
    )


def _macs(layer: Layer, left: Sequence[int], weight: Sequence[int], output: Sequence[int]) -> int:
    if layer.op == "ConvTranspose":
        return prod(left) * prod(weight[1:])
    if "Conv" in layer.op:
        return prod(output) * prod(weight[1:])
    return prod(output) * (left[0] if layer.transposed else left[-1])


def _stored(network: Network, weight: str) -> str:
    """The constant that filters are stored in."""
    while network.tensors[weight].value is None and network.producers[weight].op in _STORED_BEHIND:
        weight = network.producers[weight].inputs[0]
    return weight


def _map_type(network: Network, output: str) -> str:
    """The type that an output map is stored as: the quantised one where only a QuantizeLinear reads it."""
    readers = network.consumers[output]
    if len(readers) == 1 and readers[0].op == "QuantizeLinear":
        output = readers[0].outputs[0]
    return network.tensors[output].dtype
