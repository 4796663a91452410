"""Random quantised convolutional networks as ONNX in the QDQ form, with residual sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from hypothesis import strategies as st
from onnx import helper, numpy_helper

_CHANNELS = 4


class _Builder:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def op(self, name: str, *inputs: str, **attributes: Any) -> str:
        output = f"n_{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, list(inputs), [output], name=output, **attributes))
        return output

    def constant(self, value: npt.ArrayLike) -> str:
        name = f"c_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def requantised(self, value: str) -> str:
        scale = self.constant(np.float32(self.random.uniform(0.02, 0.2)))
        zero = self.constant(np.int8(self.random.integers(-128, 20)))
        return self.op("DequantizeLinear", self.op("QuantizeLinear", value, scale, zero), scale, zero)

    def convolution(self, x: str, kind: str) -> str:
        groups = _CHANNELS if kind == "depthwise" else 1
        side = 1 if kind == "pointwise" else 3
        shape = (_CHANNELS, _CHANNELS // groups, side, side)
        weights = self.constant(self.random.integers(-127, 127, shape, np.int8, endpoint=True))
        scale, zero = self.constant(np.float32(0.01)), self.constant(np.int8(0))
        weights = self.op("DequantizeLinear", weights, scale, zero)
        bias = self.constant(self.random.standard_normal(_CHANNELS).astype(np.float32))
        if kind == "strided":
            return self.op("Conv", x, weights, bias, pads=[0, 0, 1, 1], strides=[2, 2])
        return self.op("Conv", x, weights, bias, pads=[side // 2] * 4, group=groups)


@st.composite
def networks(draw: st.DrawFn) -> onnx.ModelProto:
    """Up to three blocks of one or two convolutions each, some with a sum of what went in and came out."""
    build = _Builder(draw(st.integers(0, 99)))
    side = size = draw(st.sampled_from([5, 8, 12]))
    x = build.requantised("x")
    for _ in range(draw(st.integers(1, 3))):
        kinds = draw(st.lists(st.sampled_from(["plain", "depthwise", "pointwise"]), min_size=1, max_size=2))
        if size > 3 and draw(st.booleans()):
            kinds[0], size = "strided", size // 2
        y = x
        for kind in kinds:
            y = build.convolution(y, kind)
            if draw(st.booleans()):
                y = build.op("Relu", y)
            y = build.requantised(y)
        if kinds[0] != "strided" and draw(st.booleans()):
            y = build.requantised(build.op("Add", x, y))
        x = y
    x = draw(st.sampled_from([x, build.requantised(build.op("GlobalAveragePool", x))]))
    graph = helper.make_graph(
        build.nodes,
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, _CHANNELS, side, side])],
        [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, None)],
        build.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)
