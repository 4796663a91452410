"""Random networks of everything that moves channels about, and random gates for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from channel_networks import Builder
from hypothesis import strategies as st

from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.gates import Gates, gate_axis
from serenity_mlir.reform.groups import channel_groups, gates_of
from serenity_mlir.reform.network import Network

SIDE = 6
INPUT = (1, 3, SIDE, SIDE)


@dataclass
class Graph:
    """Tensors of one size of image, and how many channels each has."""

    draw: st.DrawFn
    build: Builder
    channels: dict[str, int] = field(default_factory=lambda: {"x": INPUT[1]})

    def pick(self) -> str:
        """A tensor, later ones more often than earlier ones."""
        names = list(self.channels)
        return names[-1 - min(self.draw(st.integers(0, 3)), len(names) - 1)]

    def count(self) -> int:
        return self.draw(st.integers(1, 4))

    def add(self, name: str, channels: int) -> None:
        self.channels[name] = channels


def conv(graph: Graph) -> None:
    x, outputs = graph.pick(), 2 * graph.count()
    kernel = graph.draw(st.sampled_from([1, 3]))
    bias = graph.draw(st.booleans())
    graph.add(graph.build.conv(x, graph.channels[x], outputs, kernel, bias=bias), outputs)


def grouped(graph: Graph) -> None:
    x = graph.pick()
    inputs = graph.channels[x]
    group = graph.draw(st.sampled_from([size for size in range(1, inputs + 1) if inputs % size == 0]))
    outputs = group * graph.count()
    graph.add(graph.build.conv(x, inputs, outputs, group=group), outputs)


def transposed(graph: Graph) -> None:
    x = graph.pick()
    inputs = graph.channels[x]
    group = graph.draw(st.sampled_from([size for size in (1, 2, inputs) if inputs % size == 0]))
    each = graph.draw(st.integers(1, 2))
    operands = [x, graph.build.weight(inputs, each, 3, 3), graph.build.weight(group * each)]
    graph.add(graph.build.op("ConvTranspose", *operands, group=group, pads=[1] * 4), group * each)


def norm(graph: Graph) -> None:
    x = graph.pick()
    count = graph.channels[x]
    zeros = graph.draw(st.sets(st.integers(0, count - 1), max_size=count // 2))
    graph.add(graph.build.norm(x, count, tuple(zeros)), count)


def activation(graph: Graph) -> None:
    x = graph.pick()
    kind = graph.draw(st.sampled_from(["Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh", "PRelu"]))
    slope = [graph.build.weight(graph.channels[x], 1, 1)] if kind == "PRelu" else []
    graph.add(graph.build.op(kind, x, *slope), graph.channels[x])


def combined(graph: Graph) -> None:
    x = graph.pick()
    alike = [name for name, count in graph.channels.items() if count in (graph.channels[x], 1)]
    kind = graph.draw(st.sampled_from(["Add", "Add", "Mul", "Sub", "Max"]))
    graph.add(graph.build.op(kind, x, graph.draw(st.sampled_from(alike))), graph.channels[x])


def joined(graph: Graph) -> None:
    parts = [graph.pick() for _ in range(graph.draw(st.integers(2, 3)))]
    graph.add(graph.build.op("Concat", *parts, axis=1), sum(graph.channels[name] for name in parts))


def divided(graph: Graph) -> None:
    x = graph.pick()
    count = graph.channels[x]
    if count < 2:
        return
    first = graph.draw(st.integers(1, count - 1))
    sizes = graph.build.constant([first, count - first], np.int64)
    one, other = graph.build.ops("Split", x, sizes, outputs=2, axis=1)
    graph.add(one, first)
    graph.add(other, count - first)


def sliced(graph: Graph) -> None:
    x = graph.pick()
    count = graph.channels[x]
    start = graph.draw(st.integers(0, count - 1))
    stop = graph.draw(st.integers(start + 1, count))
    bounds = [graph.build.constant([item], np.int64) for item in (start, stop, 1)]
    graph.add(graph.build.op("Slice", x, *bounds), stop - start)


def gathered(graph: Graph) -> None:
    x = graph.pick()
    order = graph.draw(st.permutations(range(graph.channels[x])))
    graph.add(graph.build.op("Gather", x, graph.build.constant(order, np.int64), axis=1), len(order))


def shuffled(graph: Graph) -> None:
    x = graph.pick()
    count = graph.channels[x]
    groups = [size for size in range(2, count + 1) if count % size == 0]
    if groups:
        graph.add(graph.build.shuffle(x, count, graph.draw(st.sampled_from(groups)), SIDE), count)


def excited(graph: Graph) -> None:
    x = graph.pick()
    count, few = graph.channels[x], graph.count()
    pooled = graph.build.op("GlobalAveragePool", x)
    inner = graph.build.op("Relu", graph.build.conv(pooled, count, few, kernel=1))
    scale = graph.build.op("Sigmoid", graph.build.conv(inner, few, count, kernel=1))
    graph.add(graph.build.op("Mul", x, scale), count)


def pooled(graph: Graph) -> None:
    x = graph.pick()
    kind = graph.draw(st.sampled_from(["MaxPool", "AveragePool"]))
    graph.add(graph.build.op(kind, x, kernel_shape=[3, 3], pads=[1] * 4), graph.channels[x])


def padded(graph: Graph) -> None:
    x = graph.pick()
    before, after = graph.draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    pads = graph.build.constant([0, before, 0, 0, 0, after, 0, 0], np.int64)
    value = graph.build.constant(graph.draw(st.sampled_from([0, 2])), np.float32)
    graph.add(graph.build.op("Pad", x, pads, value), graph.channels[x] + before + after)


def shared(graph: Graph) -> None:
    """A convolution with the filters and the bias of an earlier one that reads as many channels."""
    x = graph.pick()
    weights = {item.name: item.dims for item in graph.build.constants}
    old = [
        node
        for node in graph.build.nodes
        if node.op_type == "Conv" and list(weights[node.input[1]])[1:] == [graph.channels[x], 3, 3]
    ]
    if old:
        node = graph.draw(st.sampled_from(old))
        if all(item.i == 1 for item in node.attribute if item.name == "group"):
            again = graph.build.op("Conv", x, *node.input[1:], pads=[1] * 4)
            graph.add(again, weights[node.input[1]][0])


def normalised(graph: Graph) -> None:
    x = graph.pick()
    count = graph.channels[x]
    kind = graph.draw(st.sampled_from(["InstanceNormalization", "LRN", "LayerNormalization", "Softmax"]))
    if kind == "InstanceNormalization":
        made = graph.build.op(kind, x, graph.build.weight(count), graph.build.weight(count))
    elif kind == "LayerNormalization":
        made = graph.build.op(kind, x, graph.build.weight(SIDE), graph.build.weight(SIDE))
    else:
        made = graph.build.op(kind, x, **({"size": 3} if kind == "LRN" else {"axis": -1}))
    graph.add(made, count)


def scaled(graph: Graph) -> None:
    """Clipped, and divided by the mean or the largest of each channel, with or without its axes kept."""
    x = graph.pick()
    limits = [graph.build.constant(item, np.float32) for item in (-1, 3)]
    clipped = graph.build.op("Clip", x, graph.draw(st.sampled_from(["", limits[0]])), limits[1])
    axes = graph.build.constant([2, -1], np.int64)
    kind = graph.draw(st.sampled_from(["ReduceMean", "ReduceMax", "ReduceSum"]))
    if graph.draw(st.booleans()):
        mean = graph.build.op(kind, x, axes)
    else:
        mean = graph.build.op("Unsqueeze", graph.build.op(kind, x, axes, keepdims=0), axes)
    if graph.draw(st.booleans()):
        shape = graph.build.constant([1, graph.channels[x], SIDE, SIDE], np.int64)
        mean = graph.build.op("Expand", mean, shape)
    graph.add(graph.build.op("Mul", clipped, graph.build.op("Tanh", mean)), graph.channels[x])


def folded_space(graph: Graph) -> None:
    """Blocks of positions as channels and back, in either order of the two."""
    x = graph.pick()
    deep = graph.build.op("SpaceToDepth", x, blocksize=2)
    mixed = 4 * graph.channels[x]
    outputs = 4 * graph.count()
    made = graph.build.conv(deep, mixed, outputs, kernel=1)
    mode = graph.draw(st.sampled_from(["DCR", "CRD"]))
    graph.add(graph.build.op("DepthToSpace", made, blocksize=2, mode=mode), outputs // 4)


def resampled(graph: Graph) -> None:
    x = graph.pick()
    count = graph.channels[x]
    if graph.draw(st.booleans()):
        scale = ["", graph.build.constant([1, 1, 2, 2], np.float32)]
    else:
        scale = ["", "", graph.build.constant([1, count, 2 * SIDE, 2 * SIDE], np.int64)]
    mode = graph.draw(st.sampled_from(["nearest", "linear"]))
    large = graph.build.op("Resize", x, *scale, mode=mode)
    graph.add(graph.build.op("MaxPool", large, kernel_shape=[2, 2], strides=[2, 2]), count)


def attended(graph: Graph) -> None:
    """Positions attend to positions, in one or two heads of channels."""
    x = graph.pick()
    count = graph.channels[x]
    wide = 2 * graph.count()
    heads = graph.draw(st.sampled_from([1, 2]))
    rows = graph.build.op("Reshape", x, graph.build.constant([0, count, SIDE * SIDE], np.int64))
    rows = graph.build.op("Transpose", rows, perm=[0, 2, 1])
    split = graph.build.constant([1, SIDE * SIDE, heads, wide // heads], np.int64)
    parts = []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        made = graph.build.op("MatMul", rows, graph.build.weight(count, wide))
        parts.append(graph.build.op("Transpose", graph.build.op("Reshape", made, split), perm=order))
    weights = graph.build.op("Softmax", graph.build.op("MatMul", parts[0], parts[1]), axis=-1)
    mixed = graph.build.op("Transpose", graph.build.op("MatMul", weights, parts[2]), perm=[0, 2, 1, 3])
    flat = graph.build.op("Reshape", mixed, graph.build.constant([1, SIDE * SIDE, wide], np.int64))
    back = graph.build.op("MatMul", flat, graph.build.weight(wide, count))
    planes = graph.build.constant([1, count, SIDE, SIDE], np.int64)
    graph.add(graph.build.op("Reshape", graph.build.op("Transpose", back, perm=[0, 2, 1]), planes), count)


STEPS = [
    conv, conv, grouped, transposed, norm, activation, activation, combined, combined, joined, divided,
    sliced, gathered, shuffled, excited, pooled, padded, shared, normalised, scaled, folded_space, resampled,
    attended,
]  # fmt: skip


def head(graph: Graph) -> str:
    x = graph.pick()
    count = graph.channels[x]
    kind = graph.draw(st.sampled_from(["planar", "interleaved", "pooled", "conv", "matmul", "as it is"]))
    if kind == "as it is":
        return x if x != "x" else graph.build.op("Relu", x)
    if kind == "conv":
        return graph.build.conv(x, count, 2, pads=[0] * 4)
    if kind == "pooled":
        flat, size = graph.build.op("Flatten", graph.build.op("GlobalAveragePool", x)), count
    else:
        moved = graph.build.op("Transpose", x, perm=[0, 2, 3, 1]) if kind == "interleaved" else x
        flat, size = graph.build.op("Flatten", moved), count * SIDE * SIDE
    if kind == "matmul":
        hidden = graph.build.op("MatMul", flat, graph.build.weight(size, 4))
        hidden = graph.build.op("Add", hidden, graph.build.weight(4))
        return graph.build.op("MatMul", hidden, graph.build.weight(4, 2))
    return graph.build.gemm(graph.build.op("Relu", graph.build.gemm(flat, size, 4)), 4, 2)


@st.composite
def networks(draw: st.DrawFn) -> onnx.ModelProto:
    """A network with one image as input, and one or two outputs."""
    graph = Graph(draw, Builder(draw(st.integers(0, 99))))
    conv(graph)
    for _ in range(draw(st.integers(1, 9))):
        draw(st.sampled_from(STEPS))(graph)
    outputs = dict.fromkeys(head(graph) for _ in range(draw(st.integers(1, 2))))
    return graph.build.model({"x": INPUT}, *outputs)


@st.composite
def gates(draw: st.DrawFn, model: onnx.ModelProto) -> Gates:
    """Masks of whole groups, or gates on any tensors: those that leave, and those that have to stay."""
    network = network_of(model)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    share = draw(st.sampled_from([0.3, 0.6, 0.9]))
    if draw(st.booleans()):
        groups = channel_groups(network)
        masks = {group.id: rng.random(group.size) > share for group in groups if group.prunable}
        return gates_of(network, masks, groups)
    return anywhere(network, rng, share)


def anywhere(network: Network, rng: np.random.Generator, share: float) -> Gates:
    """Gates on some of all tensors that can have one."""
    found: dict[str, np.ndarray] = {}
    for name in network.producers:
        size = network.shape(name)[gate_axis(network, name)] if network.shape(name) else None
        if size is not None and network.tensors[name].dtype == "float32" and rng.random() < 0.4:
            found[name] = rng.random(size) > share
    return found
