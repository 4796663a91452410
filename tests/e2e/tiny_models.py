"""Models for tests of files and processes: as small as they can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MLIR = """\
func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %a = tosa.add %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %a : tensor<16x16xf32>
}
"""
# IREE's parser of this attribute fails without a word.
SILENT = "module attributes {a = #stream.resource_config<{memory_model = discrete}>} {\n}\n"


def model(
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[int | str | None] = (1, 3, 8, 8),
    *,
    weights: Sequence[onnx.TensorProto] = (),
    shape_input: bool = False,
) -> onnx.ModelProto:
    """A model of one input `x` and one output `y`, both of floats, and at times an input `s` of a shape."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    if shape_input:
        inputs.append(helper.make_tensor_value_info("s", TensorProto.INT64, ["rank"]))
    graph = helper.make_graph(
        list(nodes),
        "main",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        list(weights),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def two_convolutions() -> onnx.ModelProto:
    """Two convolutions with a buffer between them, so that there is something live at the peak."""
    generator = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("w1", (16, 3, 3, 3)), ("w2", (4, 16, 3, 3)))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["h"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["h", "w2"], ["y"], name="second", pads=[1, 1, 1, 1]),
    ]
    return model(nodes, weights=weights)


def with_external_data(path: Path, location: str) -> None:
    """Write the two convolutions with the first one's weights in another file."""
    made = two_convolutions()
    tensor = made.graph.initializer[0]
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    tensor.external_data.add(key="length", value=str(len(data)))
    path.write_bytes(made.SerializeToString())


def quantised_block() -> onnx.ModelProto:
    """Pointwise and padded depthwise convolutions in int8, of which IREE stores some in int32."""
    rng = np.random.default_rng(0)
    shapes = {"a": (8, 8, 1, 1), "b": (8, 1, 3, 3), "c": (8, 8, 1, 1), "d": (8, 1, 3, 3)}
    weights = [
        helper.make_tensor("scale", TensorProto.FLOAT, [], [2**-6]),  # sums are exact, and rounded alike
        helper.make_tensor("zero", TensorProto.INT8, [], [0]),
        *(
            numpy_helper.from_array(rng.integers(-100, 100, shape).astype(np.int8), name)
            for name, shape in shapes.items()
        ),
    ]
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"])]
    for name, shape in shapes.items():
        side = shape[-1] // 2
        nodes += [
            helper.make_node("DequantizeLinear", [nodes[-1].output[0], "scale", "zero"], [f"x{name}"]),
            helper.make_node("DequantizeLinear", [name, "scale", "zero"], [f"w{name}"]),
            helper.make_node(
                "Conv", [f"x{name}", f"w{name}"], [f"c{name}"], name, group=8 // shape[1], pads=[side] * 4
            ),
            helper.make_node("QuantizeLinear", [f"c{name}", "scale", "zero"], [f"q{name}"]),
        ]
    nodes.append(helper.make_node("DequantizeLinear", ["qd", "scale", "zero"], ["y"]))
    return model(nodes, (1, 8, 32, 32), weights=weights)
