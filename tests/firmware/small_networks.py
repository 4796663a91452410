"""Networks of a few layers, names of real ones, and functions in MLIR with what they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

MODELS = (
    "mnist_cntk",
    "tfl_kws_int8",
    "tfl_ic_resnet_int8",
    "tfl_vww96_int8",
    "tfl_tflm_micro_speech",
    "nas_randwire_ws32_4_075_s0",
)
"""Real networks of `../shared/models` that fit the boards."""

Arrays = list[npt.NDArray[Any]]
_RNG = 7


def _made(
    name: str, nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto], kind: int
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", kind, (1, 3, 12, 12))],
        [helper.make_tensor_value_info("y", kind, None)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def write_float(path: Path) -> Path:
    """Two convolutions beside each other, concatenated, pooled, and a matrix product."""
    rng = np.random.default_rng(_RNG)
    shapes = {"w1": (8, 3, 3, 3), "w2": (8, 3, 3, 3), "w3": (16 * 36, 5)}
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) / 4, name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["x", "w2"], ["b"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["c"]),
        helper.make_node("Concat", ["c", "b"], ["d"], axis=1),
        helper.make_node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["e"], ["f"]),
        helper.make_node("MatMul", ["f", "w3"], ["y"]),
    ]
    onnx.save(_made("float", nodes, weights, TensorProto.FLOAT), path)
    return path


def write_int8(path: Path) -> Path:
    """Two quantised convolutions, as TensorFlow Lite exports them."""
    rng = np.random.default_rng(_RNG)
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def constant(name: str, value: npt.NDArray[Any]) -> str:
        weights.append(numpy_helper.from_array(value, name))
        return name

    def linear(op: str, source: str, made: str, scale: float, zero: int) -> None:
        pair = [constant(f"{made}_s", np.float32(scale)), constant(f"{made}_z", np.int8(zero))]  # type: ignore[arg-type]
        nodes.append(helper.make_node(op, [source, *pair], [made]))

    linear("DequantizeLinear", "x", "xf", 0.0473, 3)
    for number, (channels, given, source) in enumerate(((8, 3, "xf"), (4, 8, "h0f"))):
        kernel = rng.integers(-127, 128, (channels, given, 3, 3), dtype=np.int8)
        linear("DequantizeLinear", constant(f"w{number}", kernel), f"w{number}f", 0.0113, 0)
        nodes.append(helper.make_node("Conv", [source, f"w{number}f"], [f"c{number}"], pads=[1, 1, 1, 1]))
        linear("QuantizeLinear", f"c{number}", f"h{number}" if not number else "y", 0.2317, -5)
        if not number:
            linear("DequantizeLinear", "h0", "h0f", 0.2317, -5)
    onnx.save(_made("int8", nodes, weights, TensorProto.INT8), path)
    return path


@dataclass(frozen=True)
class Layer:
    """A padded convolution; of depthwise ones, `channels` is what it is given."""

    channels: int
    kernel: int
    stride: int = 1
    depthwise: bool = False


def write_chain(path: Path, layers: Sequence[Layer], *, given: int, width: int, quantised: bool) -> Path:
    """Convolutions in a row, and a pool over all that is left: floats and a mean, or int8 and the largest."""
    rng = np.random.default_rng(_RNG)
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def constant(name: str, value: npt.NDArray[Any]) -> str:
        weights.append(numpy_helper.from_array(value, name))
        return name

    def linear(op: str, source: str, made: str, scale: float, zero: int) -> str:
        pair = [
            constant(f"{made}_s", np.array(scale, np.float32)),
            constant(f"{made}_z", np.array(zero, np.int8)),
        ]
        nodes.append(helper.make_node(op, [source, *pair], [made]))
        return made

    source, channels = linear("DequantizeLinear", "x", "xf", 0.0473, 3) if quantised else "x", given
    for number, layer in enumerate(layers):
        shape = (layer.channels, 1 if layer.depthwise else channels, layer.kernel, layer.kernel)
        if quantised:
            kernel = constant(f"w{number}", rng.integers(-127, 128, shape, dtype=np.int8))
            kernel = linear("DequantizeLinear", kernel, f"w{number}f", 0.0113, 0)
        else:
            kernel = constant(f"w{number}", rng.standard_normal(shape).astype(np.float32) / 4)
        strides, pads = [layer.stride] * 2, [layer.kernel // 2] * 4
        group = channels if layer.depthwise else 1
        made = helper.make_node(
            "Conv", [source, kernel], [f"c{number}"], strides=strides, pads=pads, group=group
        )
        nodes.append(made)
        nodes.append(helper.make_node("Relu", [f"c{number}"], [f"r{number}"]))
        source, channels = f"r{number}", layer.channels
        if quantised:
            source = linear("QuantizeLinear", source, f"q{number}", 0.0613, -128)
            source = linear("DequantizeLinear", source, f"q{number}f", 0.0613, -128)
    pool = "GlobalMaxPool" if quantised else "GlobalAveragePool"
    nodes.append(helper.make_node(pool, [source], ["p" if quantised else "y"]))
    if quantised:
        linear("QuantizeLinear", "p", "y", 0.0613, -128)
    kind = TensorProto.INT8 if quantised else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", kind, (1, given, width, width))],
        [helper.make_tensor_value_info("y", kind, None)],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


@dataclass(frozen=True)
class Program:
    """A function in MLIR, and the same in NumPy."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    compute: Callable[..., Arrays]


_S = "tensor<16x16xf32>"
_T, _V, _W = "tensor<16x24xf32>", "tensor<16xf32>", "tensor<36x24xf32>"
_REDUCED = f"""
    %ve = tensor.empty() : {_V}
    %vz = linalg.fill ins(%zero : f32) outs(%ve : {_V}) -> {_V}
    %r = linalg.reduce ins(%s : {_T}) outs(%vz : {_V}) dimensions = [1]
      (%p: f32, %q: f32) {{ %t = arith.addf %p, %q : f32 linalg.yield %t : f32 }}
"""
PROGRAMS = {
    "two_outputs": Program(
        f"""func.func @main(%x: {_T}, %y: {_T}) -> ({_T}, {_V}) {{
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %x, %y : {_T}
    {_REDUCED}
    return %s, %r : {_T}, {_V}
  }}""",
        ((16, 24), (16, 24)),
        lambda x, y: [x + y, (x + y).sum(1)],
    ),
    "input_comes_back": Program(  # and its place would be the next product's
        f"""func.func @main(%x: {_S}, %y: {_S}) -> ({_S}, {_S}) {{
    %e = tensor.empty() : {_S}
    %zero = arith.constant 0.0 : f32
    %z = linalg.fill ins(%zero : f32) outs(%e : {_S}) -> {_S}
    %a = linalg.matmul ins(%x, %y : {_S}, {_S}) outs(%z : {_S}) -> {_S}
    %b = linalg.matmul ins(%a, %y : {_S}, {_S}) outs(%z : {_S}) -> {_S}
    %c = linalg.matmul ins(%b, %y : {_S}, {_S}) outs(%z : {_S}) -> {_S}
    return %c, %x : {_S}, {_S}
  }}""",
        ((16, 16), (16, 16)),
        lambda x, y: [x @ y @ y @ y, x],
    ),
    "input_is_not_read": Program(
        f"""func.func @main(%x: {_T}, %y: {_T}) -> {_T} {{
    %s = arith.addf %x, %x : {_T}
    return %s : {_T}
  }}""",
        ((16, 24), (16, 24)),
        lambda x, _: [x + x],
    ),
    "copies": Program(
        f"""func.func @main(%x: {_T}, %y: {_T}) -> ({_W}, {_T}) {{
    %e = tensor.empty() : {_W}
    %c = arith.constant 1.5 : f32
    %f = linalg.fill ins(%c : f32) outs(%e : {_W}) -> {_W}
    %a = tensor.insert_slice %x into %f[0, 0] [16, 24] [1, 1] : {_T} into {_W}
    %b = tensor.insert_slice %y into %a[20, 0] [16, 24] [1, 1] : {_T} into {_W}
    %s = arith.addf %x, %y : {_T}
    return %b, %s : {_W}, {_T}
  }}""",
        ((16, 24), (16, 24)),
        lambda x, y: [np.concatenate([x, np.full((4, 24), 1.5, np.float32), y]), x + y],
    ),
}
