"""Random int8 networks as converters write them: Q/DQ pairs around layers with scales per channel."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from channel_networks import QuantisedBuilder
from hypothesis import strategies as st

SIDE = 6
INPUT = (1, 3, SIDE, SIDE)


@dataclass
class Graph:
    """Dequantised tensors of one size of image, and how many channels each has."""

    draw: st.DrawFn
    build: QuantisedBuilder
    channels: dict[str, int] = field(default_factory=dict)

    def pick(self) -> str:
        """A tensor, later ones more often than earlier ones."""
        names = list(self.channels)
        return names[-1 - min(self.draw(st.integers(0, 3)), len(names) - 1)]

    def like(self, name: str) -> str:
        """A tensor of as many channels."""
        count = self.channels[name]
        return self.draw(st.sampled_from([other for other, own in self.channels.items() if own == count]))

    def divisor(self, count: int, least: int = 1) -> int:
        """One of the divisors of a number; the number itself where none is as large as `least`."""
        found = [size for size in range(least, count + 1) if count % size == 0]
        return self.draw(st.sampled_from(found or [count]))


def layer(graph: Graph) -> None:
    x, outputs = graph.pick(), 2 * graph.draw(st.integers(1, 4))
    each = graph.draw(st.booleans())
    graph.channels[graph.build.layer(x, graph.channels[x], outputs, per_channel=each)] = outputs


def grouped(graph: Graph) -> None:
    """Depthwise, where every channel is a group."""
    x = graph.pick()
    group = graph.divisor(graph.channels[x])
    outputs = group * graph.draw(st.integers(1, 2))
    graph.channels[graph.build.layer(x, graph.channels[x], outputs, group=group)] = outputs


def pointwise(graph: Graph) -> None:
    x, outputs = graph.pick(), graph.draw(st.integers(1, 8))
    weight = graph.build.quantised(outputs, graph.channels[x], 1, 1, axis=0)
    bias = [graph.build.bias(outputs)] if graph.draw(st.booleans()) else []
    made = graph.build.op("Conv", x, weight, *bias)
    graph.channels[graph.build.scale(made, 0.03, graph.draw(st.sampled_from([0, -5])))] = outputs


def shared(graph: Graph) -> None:
    """Two convolutions with the same filters."""
    x = graph.pick()
    operands = graph.build.quantised(4, graph.channels[x], 3, 3, axis=0), graph.build.bias(4)
    for source in (x, graph.like(x)):
        made = graph.build.op("Conv", source, *operands, pads=[1] * 4)
        graph.channels[graph.build.scale(made, 0.02, -9)] = 4


def added(graph: Graph) -> None:
    x = graph.pick()
    made = graph.build.op("Add", x, graph.like(x))
    graph.channels[graph.build.scale(made, 0.03, -90)] = graph.channels[x]


def joined(graph: Graph) -> None:
    x, other = graph.pick(), graph.pick()
    made = graph.build.op("Concat", x, other, axis=1)
    graph.channels[graph.build.scale(made, 0.03, -40)] = graph.channels[x] + graph.channels[other]


def doubled(graph: Graph) -> None:
    """Concatenated with itself, as integers."""
    x = graph.pick()
    scales = graph.build.constant(0.04, np.float32), graph.build.constant(7, np.int8)
    stored = graph.build.op("QuantizeLinear", x, *scales)
    twice = graph.build.op("Concat", stored, stored, axis=1)
    graph.channels[graph.build.op("DequantizeLinear", twice, *scales)] = 2 * graph.channels[x]


def shuffled(graph: Graph) -> None:
    x = graph.pick()
    count = graph.channels[x]
    graph.channels[graph.build.shuffle(x, count, graph.divisor(count, 2), SIDE)] = count


def activated(graph: Graph) -> None:
    x = graph.pick()
    kind = graph.draw(st.sampled_from(["Sigmoid", "HardSwish", "Tanh", "Relu"]))
    graph.channels[graph.build.scale(graph.build.op(kind, x), 1 / 256, -128)] = graph.channels[x]


def pooled(graph: Graph) -> None:
    x = graph.pick()
    kind = graph.draw(st.sampled_from(["MaxPool", "AveragePool"]))
    made = graph.build.op(kind, x, kernel_shape=[3, 3], pads=[1] * 4)
    graph.channels[graph.build.scale(made, 0.02, -100)] = graph.channels[x]


def rescaled(graph: Graph) -> None:
    """Requantised with a scale and a zero point for each channel."""
    x = graph.pick()
    count, rng = graph.channels[x], graph.build.rng
    scales = graph.build.constant(rng.uniform(0.01, 0.05, count), np.float32)
    zeros = graph.build.constant(rng.integers(-20, 20, count), np.int8)
    stored = graph.build.op("QuantizeLinear", x, scales, zeros, axis=1)
    graph.channels[graph.build.op("DequantizeLinear", stored, scales, zeros, axis=1)] = count


STEPS = [
    layer, layer, grouped, pointwise, shared, added, joined, doubled, shuffled, activated, pooled, rescaled,
]  # fmt: skip


def head(graph: Graph) -> str:
    x, build = graph.pick(), graph.build
    count = graph.channels[x]
    kind = graph.draw(st.sampled_from(["planar", "interleaved", "pooled", "conv"]))
    if kind == "conv":
        return build.op("Conv", x, build.quantised(2, count, 3, 3, axis=0), build.bias(2), pads=[1] * 4)
    if kind == "pooled":
        moved, size = build.scale(build.op("GlobalAveragePool", x), 0.02, -100), count
    else:
        moved = build.op("Transpose", x, perm=[0, 2, 3, 1]) if kind == "interleaved" else x
        size = count * SIDE * SIDE
    flat = build.op("Flatten", moved)
    made = build.op("Gemm", flat, build.quantised(size, 4, axis=1), build.bias(4))
    hidden = build.scale(build.op("Relu", made), 0.05, -128)
    return build.op("Gemm", hidden, build.quantised(4, 3, axis=1), build.bias(3))


@st.composite
def quantised_networks(draw: st.DrawFn) -> onnx.ModelProto:
    """A network with one int8 image as input and one int8 output."""
    build = QuantisedBuilder(draw(st.integers(0, 999)))
    zero = draw(st.sampled_from([3, 0, -128]))
    image = build.op("DequantizeLinear", "x", build.constant(0.05, np.float32), build.constant(zero, np.int8))
    graph = Graph(draw, build, {image: INPUT[1]})
    layer(graph)
    for _ in range(draw(st.integers(1, 7))):
        draw(st.sampled_from(STEPS))(graph)
    scales = build.constant(0.05, np.float32), build.constant(5, np.int8)
    return build.model({"x": INPUT}, build.op("QuantizeLinear", head(graph), *scales), dtype=np.int8)
