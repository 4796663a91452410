"""Random small convolutional networks: quantised or of floats, padded, with residual sums and concats."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

_ACTIVATIONS = ("", "Relu", "Clip", "Sigmoid", "HardSwish")
_KINDS = ("plain", "depthwise", "pointwise", "MaxPool", "AveragePool")


class _Builder:
    """Nodes and constants of one network; values are names, `shape` says what they are."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.random = np.random.default_rng(rng.getrandbits(32))
        self.quantised = rng.random() < 0.75
        self.type = np.int8 if rng.random() < 0.5 else np.uint8
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.shape: dict[str, tuple[int, int]] = {}

    def op(self, name: str, *inputs: str, **attributes: Any) -> str:
        output = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, list(inputs), [output], name=output, **attributes))
        if inputs[0] in self.shape:
            self.shape[output] = self.shape[inputs[0]]
        return output

    def constant(self, value: npt.ArrayLike) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def stored(self, value: str) -> str:
        """A value as the network stores it: quantised and back, where it is quantised."""
        if not self.quantised:
            return value
        scale = self.constant(np.float32(self.random.uniform(0.02, 0.2)))
        limits = np.iinfo(self.type)
        zero = self.constant(self.type(self.random.integers(limits.min, limits.max // 2)))
        return self.op("DequantizeLinear", self.op("QuantizeLinear", value, scale, zero), scale, zero)

    def activated(self, value: str) -> str:
        name = self.rng.choice(_ACTIVATIONS)
        if name == "Clip":
            return self.op(name, value, self.constant(np.float32(0)), self.constant(np.float32(6)))
        return self.op(name, value) if name else value

    def weights(self, shape: tuple[int, ...]) -> str:
        if not self.quantised:
            return self.constant(
                self.random.standard_normal(shape).astype(np.float32) / np.sqrt(np.prod(shape[1:]))
            )
        values = self.constant(self.random.integers(-127, 127, shape, np.int8, endpoint=True))
        if self.rng.random() < 0.5:
            scales = self.random.uniform(0.002, 0.02, shape[0]).astype(np.float32)
            zeros = self.constant(np.zeros(shape[0], np.int8))
            return self.op("DequantizeLinear", values, self.constant(scales), zeros, axis=0)
        return self.op("DequantizeLinear", values, self.constant(np.float32(0.01)), self.constant(np.int8(0)))

    def layer(self, x: str, kind: str, *, stride: int = 1, outputs: int | None = None) -> str:
        """A convolution or pool of a value, activated and stored."""
        channels, size = self.shape[x]
        side = (
            1
            if kind == "pointwise"
            else self.rng.choice([2, 3, 5])
            if stride > 1
            else self.rng.choice([3, 5])
        )
        total = max(side - 1 - (stride - 1) * (1 - size % 2), 0)
        low = total // 2
        pads = [low, low, total - low, total - low]
        after = (size + total - side) // stride + 1
        made = {"strides": [stride] * 2, "pads": pads, "kernel_shape": [side] * 2}
        if kind.endswith("Pool"):
            y = self.op(kind, x, **made)
        else:
            groups = channels if kind == "depthwise" else 1
            outputs = channels if kind == "depthwise" else outputs or self.rng.choice([4, 8, 12])
            weights = self.weights((outputs, channels // groups, side, side))
            bias = self.constant(self.random.standard_normal(outputs).astype(np.float32))
            y = self.op("Conv", x, weights, bias, group=groups, **made)
            channels = outputs
        self.shape[y] = channels, after
        return self.stored(self.activated(y))

    def block(self, x: str) -> str:
        """Layers, with a residual sum, a concat, or a value that several read."""
        shape, rng = self.shape[x], self.rng
        y = x
        if rng.random() < 0.3:
            y = self.stored(
                self.activated(self.op("Mul", x, self.constant(np.float32(rng.choice([0.5, 2])))))
            )
        start = y
        for _ in range(rng.randint(1, 3)):
            y = self.layer(y, rng.choice(_KINDS))
        end = rng.choice(["sum", "concat", "down", "none"])
        if end == "sum":
            if self.shape[y] != shape:
                y = self.layer(y, "pointwise", outputs=shape[0])
            return self.stored(self.activated(self.op("Add", *rng.sample([start, y], 2))))
        if end == "concat" and self.shape[y][0] + shape[0] <= 24:
            joined = self.op("Concat", *rng.sample([start, y], 2), axis=1)
            self.shape[joined] = self.shape[y][0] + shape[0], shape[1]
            return self.stored(joined) if rng.random() < 0.7 else joined
        if end == "down" and shape[1] > 4:
            return self.layer(y, rng.choice(_KINDS[:2]), stride=2)
        return y


def network(seed: int) -> onnx.ModelProto:
    """The network of a number: always the same."""
    rng = random.Random(seed)  # noqa: S311  (to be repeated)
    build = _Builder(rng)
    side = rng.choice([7, 8, 12, 16])
    channels = rng.choice([1, 3, 4])
    build.shape["x"] = channels, side
    x = build.stored("x")
    for _ in range(rng.randint(1, 4)):
        x = build.block(x)
    if rng.random() < 0.5:
        x = build.stored(build.op("GlobalAveragePool", x))
        x = build.op("Flatten", x)
        # IREE has no matrix product of unsigned and signed integers.
        if rng.random() < 0.7 and not (build.quantised and build.type is np.uint8):
            weights = build.weights((5, build.shape[x][0]))
            x = build.stored(build.op("Gemm", x, weights, transB=1))
            if rng.random() < 0.5:
                x = build.stored(build.op("Softmax", x))
    graph = helper.make_graph(
        build.nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, side, side])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, None)],
        build.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)
