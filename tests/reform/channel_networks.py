"""Networks as ONNX models, put together node by node with random weights of fixed seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from serenity_mlir.pipelines.importing.clean_graph import name_nodes
from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes

OPSET = 21


class Builder:
    """Nodes and constants of a model in the making; every method returns the name of a tensor."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.channels: dict[str, int] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node of one output, named like it."""
        return self.ops(kind, *inputs, outputs=1, **attributes)[0]

    def ops(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """A node of several outputs."""
        name = f"{kind}_{len(self.nodes)}"
        made = [name, *(f"{name}_{index}" for index in range(1, outputs))]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=name, **attributes))
        return made

    def constant(self, value: Any, dtype: Any = None) -> str:
        """A constant; integers are int64 where nothing else is said."""
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weight(self, *shape: int) -> str:
        """Random floats, scaled by the fan-in."""
        scale = float(np.prod(shape[1:]) or 1) ** -0.5
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def conv(self, x: str, inputs: int, outputs: int, kernel: int = 3, **options: Any) -> str:
        """A convolution of two dimensions with a bias, padded to keep its size unless told otherwise."""
        group = options.get("group", 1)
        bias = [self.weight(outputs)] if options.pop("bias", True) else []
        options.setdefault("pads", [kernel // 2] * 4)
        return self.op("Conv", x, self.weight(outputs, inputs // group, kernel, kernel), *bias, **options)

    def norm(self, x: str, channels: int, zero_scale: tuple[int, ...] = ()) -> str:
        """A batch normalisation; channels of `zero_scale` hold nothing but their shift."""
        scale = self.rng.uniform(0.5, 1.5, channels).astype(np.float32)
        scale[list(zero_scale)] = 0
        shift = self.rng.standard_normal(channels).astype(np.float32)
        mean = self.rng.standard_normal(channels).astype(np.float32)
        variance = self.rng.uniform(0.5, 1.5, channels).astype(np.float32)
        return self.op("BatchNormalization", x, *map(self.constant, (scale, shift, mean, variance)))

    def gemm(self, x: str, inputs: int, outputs: int) -> str:
        """A fully connected layer with a bias."""
        return self.op("Gemm", x, self.weight(inputs, outputs), self.weight(outputs))

    def shuffle(self, x: str, channels: int, groups: int, size: int) -> str:
        """A channel shuffle."""
        split = self.constant([1, groups, channels // groups, size, size], np.int64)
        merged = self.constant([1, channels, size, size], np.int64)
        mixed = self.op("Transpose", self.op("Reshape", x, split), perm=[0, 2, 1, 3, 4])
        return self.op("Reshape", mixed, merged)

    def model(
        self, shapes: Mapping[str, tuple[int, ...]], *outputs: str, dtype: Any = np.float32
    ) -> onnx.ModelProto:
        """The finished model, shapes inferred."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info(name, element, shape) for name, shape in shapes.items()],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        name_nodes(model)
        return infer_shapes(model)


class QuantisedBuilder(Builder):
    """Layers as converters write them for int8: quantised weights, biases of 32 bits, and Q/DQ pairs."""

    def scale(self, value: str, scale: float, zero: int) -> str:
        """Quantise and dequantise."""
        parameters = self.constant(scale, np.float32), self.constant(zero, np.int8)
        return self.op("DequantizeLinear", self.op("QuantizeLinear", value, *parameters), *parameters)

    def quantised(self, *shape: int, axis: int, per_channel: bool = True) -> str:
        """Dequantised weights."""
        stored = self.constant(self.rng.integers(-127, 128, shape), np.int8)
        count = (shape[axis],) if per_channel else ()
        scales = self.constant(self.rng.uniform(0.002, 0.01, count), np.float32)
        zeros = self.constant(np.zeros(count), np.int8)
        return self.op("DequantizeLinear", stored, scales, zeros, axis=axis)

    def bias(self, count: int) -> str:
        """A dequantised bias of 32 bits."""
        scales = self.constant(self.rng.uniform(1e-4, 2e-4, count), np.float32)
        stored = self.constant(self.rng.integers(-999, 999, count), np.int32)
        return self.op("DequantizeLinear", stored, scales, axis=0)

    def layer(self, x: str, inputs: int, outputs: int, *, group: int = 1, per_channel: bool = True) -> str:
        """A 3x3 convolution, ReLU, and a requantisation whose zero point is not 0."""
        weight = self.quantised(outputs, inputs // group, 3, 3, axis=0, per_channel=per_channel)
        made = self.op("Conv", x, weight, self.bias(outputs), group=group, pads=[1] * 4)
        return self.scale(self.op("Relu", made), 0.02, -100)
