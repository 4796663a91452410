"""Random graphs whose convolutions, products and pools stand under concatenations."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

# Grouped convolutions of three dimensions are none that the importer takes.
CONSUMERS = ("conv", "depthwise", "grouped", "pool", "gemm")


@dataclass
class Graph:
    """An ONNX graph under construction, with weights from a generator of its own."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def add(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """A node; the name of its result."""
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"n_{name}", **attributes))
        return name

    def weight(self, *shape: int) -> str:
        """A constant of about unit variance per output."""
        scale = prod(shape[1:]) ** -0.5
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array: npt.NDArray[Any]) -> str:
        """Any constant."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def model(self, inputs: dict[str, npt.NDArray[Any]], outputs: list[str]) -> onnx.ModelProto:
        """The model."""
        given = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape)
            )
            for name, array in inputs.items()
        ]
        kind = TensorProto.FLOAT if all(a.dtype == np.float32 for a in inputs.values()) else TensorProto.INT32
        results = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "main", given, results, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@dataclass(frozen=True)
class Case:
    """A model and arguments for it."""

    model: onnx.ModelProto
    inputs: dict[str, npt.NDArray[Any]]

    def __repr__(self) -> str:
        shapes = {name: array.shape for name, array in self.inputs.items()}
        weights = {item.name: tuple(item.dims) for item in self.model.graph.initializer}
        return "\n".join([f"{shapes} {weights}", *map(_line, self.model.graph.node)])


def _line(node: onnx.NodeProto) -> str:
    options = {item.name: list(item.ints) or item.i for item in node.attribute}
    return f"{node.output[0]} = {node.op_type}({', '.join(node.input)}) {options}"


@st.composite
def float_graphs(draw: st.DrawFn) -> Case:
    """Parts of 1, 2 or 3 spatial dimensions, joined, worked on element by element, and consumed."""
    graph = Graph(np.random.default_rng(draw(st.integers(0, 99))))
    space = [draw(st.integers(5, 7)) for _ in range(draw(st.sampled_from([1, 2, 2, 2, 3])))]
    batch = draw(st.integers(1, 2))
    unit = draw(st.integers(1, 3))
    counts = [unit * draw(st.integers(1, 2)) for _ in range(draw(st.integers(2, 3)))]
    inputs = {
        f"x{index}": graph.rng.standard_normal((batch, count, *space)).astype(np.float32)
        for index, count in enumerate(counts)
    }
    parts = list(zip(inputs, counts, strict=True))
    if draw(st.booleans()):
        parts.append(parts[0])
    if draw(st.booleans()):
        constant = graph.rng.standard_normal((batch, unit, *space)).astype(np.float32)
        parts.append((graph.constant(constant), unit))
    axis = draw(st.sampled_from([1, 1 - (2 + len(space))]))
    joined = graph.add("Concat", [name for name, _ in parts], axis=axis)
    channels = sum(count for _, count in parts)
    if draw(st.booleans()):
        joined = graph.add("Concat", [joined, parts[0][0]], axis=axis)
        channels += parts[0][1]
    for kind in draw(st.sampled_from([(), ("Relu",), ("Mul", "Add", "Relu"), ("Sigmoid",)])):
        scale = [graph.weight(1, channels, *[1 for _ in space])] if kind in ("Mul", "Add") else []
        joined = graph.add(kind, [joined, *scale])
    fitting = [kind for kind in CONSUMERS if len(space) < 3 or kind not in ("depthwise", "grouped")]
    consumers = draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=2))
    outputs = [_consumer(draw, graph, kind, joined, channels, unit, space) for kind in consumers]
    return Case(graph.model(inputs, outputs), inputs)


def _consumer(  # noqa: PLR0913, PLR0917  (what a node is made of)
    draw: st.DrawFn, graph: Graph, kind: str, value: str, channels: int, unit: int, space: list[int]
) -> str:
    if kind == "gemm":
        flat = graph.add("Flatten", [value], axis=1)
        return graph.add("Gemm", [flat, graph.weight(channels * prod(space), 3), graph.weight(3)])
    kernel = [draw(st.integers(1, 3)) for _ in space]
    strides = [draw(st.integers(1, 2)) for _ in space]
    pads = [draw(st.integers(0, 2)) for _ in (*space, *space)]
    if kind == "pool":
        pads = [min(pad, size - 1) for pad, size in zip(pads, (*kernel, *kernel), strict=True)]
        return graph.add("MaxPool", [value], kernel_shape=kernel, strides=strides, pads=pads)
    dilations = [draw(st.integers(1, 2)) if size > 1 else 1 for size in kernel]
    groups = {"conv": 1, "depthwise": channels, "grouped": channels // unit}[kind]
    out = groups * draw(st.integers(1, 2)) if groups > 1 else draw(st.integers(1, 4))
    operands = [value, graph.weight(out, channels // groups, *kernel)]
    operands += [graph.weight(out)] if draw(st.booleans()) else []
    options = {"strides": strides, "pads": pads, "dilations": dilations, "group": groups}
    return graph.add("Conv", operands, **options)


@st.composite
def integer_graphs(draw: st.DrawFn) -> Case:
    """A convolution or product of uint8 parts with zero points."""
    graph = Graph(np.random.default_rng(draw(st.integers(0, 99))))
    counts = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(2, 3)))]
    space = (6, 5) if draw(st.booleans()) else ()
    inputs = {
        f"x{index}": graph.rng.integers(0, 256, (2, count, *space)).astype(np.uint8)
        for index, count in enumerate(counts)
    }
    joined = graph.add("Concat", list(inputs), axis=1)
    zeros = [graph.constant(np.array(draw(st.integers(0, 255)), np.uint8)) for _ in range(2)]
    kernel = (3, 2) if space else ()
    shape = (3, sum(counts), *kernel) if space else (sum(counts), 3)
    weights = graph.constant(graph.rng.integers(0, 256, shape).astype(np.uint8))
    kind = "ConvInteger" if space else "MatMulInteger"
    pads = {"pads": 2 * [draw(st.integers(0, 1)) for _ in space]} if space else {}
    result = graph.add(kind, [joined, weights, *zeros], **pads)
    return Case(graph.model(inputs, [result]), inputs)
