"""Random quantised networks as ONNX in the QDQ form, of data movement, pools and convolutions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper, numpy_helper

SIDE = 6
SCALES = (0.05, 0.07, 0.0235294122)


@dataclass
class Builder:
    """Nodes and constants of a graph in the making."""

    kind: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def op(self, name: str, *inputs: str, **attributes: Any) -> str:
        """Append a node; returns its output's name."""
        output = f"n_{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, list(inputs), [output], name=output, **attributes))
        return output

    def constant(self, value: np.ndarray) -> str:
        """A constant's name."""
        name = f"c_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def parameters(self, scale: float, zero: int) -> tuple[str, str]:
        """Scale and zero point as constants."""
        return self.constant(np.array(scale, np.float32)), self.constant(np.array(zero, self.kind))


def _requantised(build: Builder, value: str, scheme: tuple[float, int]) -> str:
    parameters = build.parameters(*scheme)
    return build.op("DequantizeLinear", build.op("QuantizeLinear", value, *parameters), *parameters)


@st.composite
def networks(draw: st.DrawFn, *, convolutions: bool) -> onnx.ModelProto:
    """Branches of one input that are changed, quantised and concatenated, and then moved about."""
    kind = draw(st.sampled_from(["uint8", "int8"]))
    zeros = st.sampled_from([0, 100, 128] if kind == "uint8" else [0, -7, -128])
    schemes = draw(st.lists(st.tuples(st.sampled_from(SCALES), zeros), min_size=1, max_size=2))
    build = Builder(kind)
    x = build.op("DequantizeLinear", "x", *build.parameters(*schemes[0]))
    changes = ["none", "relu", "pool", "dilated-pool", "pad"] + ["conv", "depthwise"] * convolutions
    branches = []
    for change in draw(st.lists(st.sampled_from(changes), min_size=2, max_size=3)):
        value = _changed(build, x, change, draw(zeros))
        if draw(st.booleans()) or change in ("conv", "depthwise"):
            value = _requantised(build, value, draw(st.sampled_from(schemes)))
        branches.append(value)
    y = build.op("Concat", *branches, axis=1)
    for step in draw(st.permutations(["requantise", "transpose", "slice", "reshape", "pad", "pool"]))[:4]:
        y = _moved(build, y, step, draw(st.sampled_from(schemes)))
    scale, zero = build.parameters(*draw(st.sampled_from(schemes)))
    build.nodes.append(helper.make_node("QuantizeLinear", [y, scale, zero], ["y"], name="last"))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    graph = helper.make_graph(
        build.nodes,
        "net",
        [helper.make_tensor_value_info("x", element, [1, 4, SIDE, SIDE])],
        [helper.make_tensor_value_info("y", element, None)],
        build.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def _changed(build: Builder, x: str, change: str, zero: int) -> str:
    """A branch of the input's height and width."""
    if change == "relu":
        return build.op("Relu", x)
    if change == "pool":
        return build.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    if change == "dilated-pool":
        return build.op("MaxPool", x, kernel_shape=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1])
    if change == "pad":
        pads = build.constant(np.array([0, 1, 0, 0, 0, 0, 0, 0]))
        return build.op("Pad", x, pads, build.constant(np.array(0.0, np.float32)))
    if change in ("conv", "depthwise"):
        groups = 4 if change == "depthwise" else 1
        rng = np.random.default_rng(zero % 251)
        info = np.iinfo(build.kind)
        shape = (4, 4 // groups, 3, 3)
        weights = build.constant(rng.integers(info.min, info.max, shape, build.kind, endpoint=True))
        weights = build.op("DequantizeLinear", weights, *build.parameters(0.01, zero))
        return build.op("Conv", x, weights, pads=[1, 1, 1, 1], group=groups)
    return x


def _moved(build: Builder, y: str, step: str, scheme: tuple[float, int]) -> str:
    if step == "requantise":
        return _requantised(build, y, scheme)
    if step == "transpose":
        return build.op("Transpose", y, perm=[0, 1, 3, 2])
    if step == "slice":
        return build.op("Slice", y, *(build.constant(np.array([item])) for item in (1, 5, 1)))
    if step == "reshape":
        return build.op("Reshape", y, build.constant(np.array([0, 0, -1, 1])))
    if step == "pad":
        pads = build.constant(np.array([0, 0, 1, 0, 0, 0, 0, 1]))
        return build.op("Pad", y, pads, build.constant(np.array(scheme[0] * 3, np.float32)))
    return build.op("MaxPool", y, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
