"""Irregularly wired networks as their papers define them, with random weights of a fixed seed.

    python examples/networks.py nasnet|randwire OUTPUT.onnx

Needs onnx alone. Batch normalisation is folded into the convolutions, as it is for inference.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Pool = Literal["AveragePool", "MaxPool"]
_OPSET, _IR_VERSION = 17, 8
# A separable convolution halves the variance by its ReLU; its two filters make up for it.
_GAIN = 2**0.25


@dataclass(frozen=True)
class Value:
    """A feature map of shape 1 x channels x size x size."""

    name: str
    channels: int
    size: int


class Net:
    """An ONNX graph that grows layer by layer."""

    def __init__(self, name: str, channels: int, size: int, seed: int) -> None:
        self._name = name
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self.input = Value("input", channels, size)

    def _node(self, op: str, inputs: Sequence[str], channels: int, size: int, **attributes: Any) -> Value:
        name = f"{op}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return Value(name, channels, size)

    def _constant(self, array: np.ndarray) -> str:
        name = f"weight_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def conv(self, x: Value, channels: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> Value:
        """A convolution that keeps height and width, or divides them by the stride."""
        shape = (channels, x.channels // groups, kernel, kernel)
        fan_in = shape[1] * kernel * kernel
        weight = self._constant(self._random.normal(0, _GAIN / np.sqrt(fan_in), shape))
        bias = self._constant(self._random.normal(0, 0.01, channels))
        return self._node(
            "Conv",
            [x.name, weight, bias],
            channels,
            -(-x.size // stride),
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=_same(x.size, kernel, stride),
            group=groups,
        )

    def relu(self, x: Value) -> Value:
        return self._node("Relu", [x.name], x.channels, x.size)

    def add(self, x: Value, y: Value) -> Value:
        return self._node("Add", [x.name, y.name], x.channels, x.size)

    def scale(self, x: Value, factor: float) -> Value:
        return self._node("Mul", [x.name, self._constant(np.array(factor))], x.channels, x.size)

    def concat(self, *values: Value) -> Value:
        channels = sum(value.channels for value in values)
        return self._node("Concat", [value.name for value in values], channels, values[0].size, axis=1)

    def pool(self, x: Value, op: Pool, kernel: int = 3, stride: int = 1) -> Value:
        """A pooling that keeps height and width, or divides them by the stride."""
        return self._node(
            op,
            [x.name],
            x.channels,
            -(-x.size // stride),
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=_same(x.size, kernel, stride),
        )

    def shift(self, x: Value) -> Value:
        """The map moved up and left by one, zeros at the far edges."""
        limits = [self._integers(item) for item in ([1, 1], [x.size, x.size], [2, 3])]
        cut = self._node("Slice", [x.name, *limits], x.channels, x.size - 1)
        return self._node("Pad", [cut.name, self._integers([0, 0, 0, 0, 0, 0, 1, 1])], x.channels, x.size)

    def _integers(self, values: list[int]) -> str:
        name = f"weight_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def separable(self, x: Value, channels: int, kernel: int, stride: int = 1) -> Value:
        """ReLU, a depthwise and a pointwise convolution."""
        depthwise = self.conv(self.relu(x), x.channels, kernel, stride, groups=x.channels)
        return self.conv(depthwise, channels)

    def classify(self, x: Value, classes: int) -> onnx.ModelProto:
        """The finished model: ReLU, global average, a fully connected layer."""
        pooled = self._node("GlobalAveragePool", [self.relu(x).name], x.channels, 1)
        flat = self._node("Flatten", [self.conv(pooled, classes).name], classes, 1)
        shape = [1, self.input.channels, self.input.size, self.input.size]
        graph = helper.make_graph(
            self._nodes,
            self._name,
            [helper.make_tensor_value_info(self.input.name, TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(flat.name, TensorProto.FLOAT, [1, classes])],
            self._weights,
        )
        opset = helper.make_opsetid("", _OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
        onnx.checker.check_model(model, full_check=True)
        return model


def _same(size: int, kernel: int, stride: int) -> list[int]:
    """Padding as [top, left, bottom, right] with which a window op gives ceil(size / stride)."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return [total // 2] * 2 + [total - total // 2] * 2


def nasnet(*, size: int = 96, repeats: int = 1, seed: int = 0) -> onnx.ModelProto:
    """NASNet-A for ImageNet (Zoph et al., CVPR 2018, figure 4 and appendix A.7), "mobile" in width.

    Args:
        size: Height and width of the image; 224 in the paper.
        repeats: Normal cells between two reduction cells; 4 in the paper.
        seed: Of the weights.
    """
    net = Net("nasnet_a_mobile", 3, size, seed)
    before: Value | None = None
    last = net.conv(net.input, 32, 3, 2)
    for filters in (11, 22):
        before, last = last, _reduction_cell(net, last, before, filters)
    for filters in (44, 88, 176):
        if filters > 44:
            before, last = last, _reduction_cell(net, last, before, filters)
        for _ in range(repeats):
            before, last = last, _normal_cell(net, last, before, filters)
    return net.classify(last, 1000)


def _squeezed(net: Net, last: Value, before: Value | None, filters: int) -> tuple[Value, Value]:
    """The two inputs of a cell, brought to its filters and size: (last, before)."""
    if before is None:
        squeezed = last
    elif before.size != last.size:
        # Factorised reduction: every second pixel, from both diagonals, so that none is lost.
        x = net.relu(before)
        halves = (net.pool(x, "AveragePool", 1, 2), net.pool(net.shift(x), "AveragePool", 1, 2))
        squeezed = net.concat(*(net.conv(half, filters // 2) for half in halves))
    else:
        squeezed = net.conv(net.relu(before), filters)
    return net.conv(net.relu(last), filters), squeezed


def _twice(net: Net, filters: int) -> Callable[[Value, int, int], Value]:
    """Separable convolutions of this search space are applied twice, the stride in the first."""

    def separable(x: Value, kernel: int, stride: int) -> Value:
        return net.separable(net.separable(x, filters, kernel, stride), filters, kernel)

    return separable


def _normal_cell(net: Net, last: Value, before: Value | None, filters: int) -> Value:
    h, p = _squeezed(net, last, before, filters)
    separable = _twice(net, filters)
    return net.concat(
        p,
        net.add(separable(h, 5, 1), separable(p, 3, 1)),
        net.add(separable(p, 5, 1), separable(p, 3, 1)),
        net.add(net.pool(h, "AveragePool"), p),
        net.add(net.pool(p, "AveragePool"), net.pool(p, "AveragePool")),
        net.add(separable(h, 3, 1), h),
    )


def _reduction_cell(net: Net, last: Value, before: Value | None, filters: int) -> Value:
    h, p = _squeezed(net, last, before, filters)
    separable = _twice(net, filters)
    one = net.add(separable(h, 5, 2), separable(p, 7, 2))
    two = net.add(net.pool(h, "MaxPool", 3, 2), separable(p, 7, 2))
    three = net.add(net.pool(h, "AveragePool", 3, 2), separable(p, 5, 2))
    four = net.add(net.pool(one, "AveragePool"), two)
    five = net.add(separable(one, 3, 1), net.pool(h, "MaxPool", 3, 2))
    return net.concat(two, three, four, five)


def randwire(
    nodes: int = 32, k: int = 4, p: float = 0.75, *, channels: int = 32, seed: int = 0
) -> onnx.ModelProto:
    """One stage of a randomly wired network (Xie et al., ICCV 2019, section 3), stride 1, 32x32.

    Args:
        nodes: Of the wiring; each is a weighted sum, ReLU and a separable 3x3 convolution.
        k: Neighbours of a node before rewiring.
        p: Probability that an edge is rewired.
        channels: Of every feature map.
        seed: Of wiring and weights.
    """
    net = Net(f"randwire_ws_{nodes}_{k}_{p}", 3, 32, seed)
    chance = random.Random(seed)  # noqa: S311  (no secret)
    entry = net.conv(net.input, channels, 3)
    sources: list[list[int]] = [[] for _ in range(nodes)]
    for low, high in sorted(watts_strogatz(nodes, k, p, seed)):
        sources[high].append(low)
    made: list[Value] = []
    for links in sources:
        if links:
            terms = [net.scale(made[link], 1 / (1 + np.exp(-chance.gauss(0, 1)))) for link in links]
            x = _sum(net, terms)
        else:
            x = entry
        made.append(net.separable(x, channels, 3))
    read = {link for links in sources for link in links}
    ends = [value for index, value in enumerate(made) if index not in read]
    return net.classify(net.scale(_sum(net, ends), 1 / len(ends)), 10)


def _sum(net: Net, terms: list[Value]) -> Value:
    total = terms[0]
    for term in terms[1:]:
        total = net.add(total, term)
    return total


def watts_strogatz(nodes: int, k: int, p: float, seed: int) -> set[tuple[int, int]]:
    """A ring of nodes, each tied to its k nearest, each tie rewired with probability p.

    Returns:
        Edges as (lower, higher) node, which is how data flows.
    """
    chance = random.Random(seed)  # noqa: S311  (no secret)
    edges = {_edge(node, (node + step) % nodes) for node in range(nodes) for step in range(1, k // 2 + 1)}
    for step in range(1, k // 2 + 1):
        for node in range(nodes):
            free = [other for other in range(nodes) if other != node and _edge(node, other) not in edges]
            if free and chance.random() < p:
                edges.discard(_edge(node, (node + step) % nodes))
                edges.add(_edge(node, chance.choice(free)))
    return edges


def _edge(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {"nasnet": nasnet, "randwire": randwire}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("output", metavar="OUTPUT.onnx")
    arguments = parser.parse_args()
    onnx.save(NETWORKS[arguments.network](), arguments.output)
