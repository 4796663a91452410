"""Random small networks of what region_networks.py never draws.

Tensors of f64, 16-bit and 4-bit quantisation, zero points for each channel, batches, 1-D and transposed
convolutions, dilations, strides and pads that differ by side, grouped convolutions with several outputs a
channel, averages that count padding or do not, outputs that are also read inside, inputs that are outputs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

_FORMS = ("float32", "float64", "int8", "int8", "uint8", "int16")
_SELDOM = 0.06
"""How often there may be what IREE's importer cannot lower: 4 bits, unsigned 16 bits, dilated averages, and
transposed convolutions of pads that differ by side."""
_INTEGERS = {
    "int4": (TensorProto.INT4, -8, 7),
    "uint4": (TensorProto.UINT4, 0, 15),
    "int8": (TensorProto.INT8, -128, 127),
    "uint8": (TensorProto.UINT8, 0, 255),
    "int16": (TensorProto.INT16, -32768, 32767),
    "uint16": (TensorProto.UINT16, 0, 65535),
}
_SCALE = 16.0
"""Activations reach about so far: what their quantisation spans."""
_LAYERS = (
    "Conv",
    "Conv",
    "Conv",
    "depthwise",
    "depthwise",
    "grouped",
    "ConvTranspose",
    "MaxPool",
    "AveragePool",
)
_ACTIVATIONS = ("", "Relu", "Clip", "Sigmoid", "LeakyRelu")
_LARGEST = 24
"""Channels that a concat may have."""


class _Builder:
    """Nodes and constants of one network; values are names, `shape` says what they are."""

    def __init__(self, rng: random.Random, *, single: bool) -> None:
        self.rng = rng
        self.random = np.random.default_rng(rng.getrandbits(32))
        self.seldom = rng.random() < _SELDOM
        self.form = "uint16" if self.seldom and rng.random() < 0.3 else rng.choice(_FORMS)
        self.form = "float32" if single and self.form == "float64" else self.form
        self.float = np.float64 if self.form == "float64" else np.float32
        self.quantised = not self.form.startswith("float")
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.shape: dict[str, tuple[int, ...]] = {}

    def op(self, name: str, *inputs: str, shape: Sequence[int] | None = None, **attributes: Any) -> str:
        output = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, list(inputs), [output], name=output, **attributes))
        self.shape[output] = self.shape.get(inputs[0], ()) if shape is None else tuple(shape)
        return output

    def constant(self, value: npt.ArrayLike) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def integers(self, form: str, values: npt.NDArray[Any]) -> str:
        name = f"c{len(self.constants)}"
        made = helper.make_tensor(name, _INTEGERS[form][0], values.shape, values.flatten().tolist())
        self.constants.append(made)
        return name

    def stored(self, value: str) -> str:
        """A value as the network stores it: quantised and back, at times with a scale for each channel."""
        if not self.quantised:
            return value
        _, low, high = _INTEGERS[self.form]
        shape: tuple[int, ...] = (self.shape[value][1],) if self.rng.random() < 0.15 else ()
        middle, span = (low + high + 1) // 2, high - low
        zeros = middle + self.random.integers(-span // 4, span // 4, shape)
        scale = self.constant((_SCALE / span * self.random.uniform(0.7, 1.4, shape)).astype(np.float32))
        zero = self.integers(self.form, np.asarray(zeros))
        axis: dict[str, Any] = {"axis": 1} if shape else {}
        stored = self.op("QuantizeLinear", value, scale, zero, **axis)
        return self.op("DequantizeLinear", stored, scale, zero, shape=self.shape[value], **axis)

    def weights(self, shape: tuple[int, ...], axis: int) -> str:
        """Of floats, or quantised in 4 or 8 bits, symmetric or not, a scale for each channel or one."""
        reach = 1.5 / np.sqrt(prod(shape) / shape[axis])
        if not self.quantised:
            return self.constant((self.random.standard_normal(shape) * reach).astype(self.float))
        form = self.rng.choice(["int4", "uint4"] if self.seldom else ["int8", "int8", "uint8"])
        _, low, high = _INTEGERS[form]
        values = self.integers(form, self.random.integers(low, high, shape, endpoint=True))
        several = (shape[axis],) if self.rng.random() < 0.5 else ()
        centred = form.startswith("i") and self.rng.random() < 0.6
        middle = 0 if centred else (low + high + 1) // 2
        spread = 0 if centred else (high - low) // 8
        zero = self.integers(form, np.asarray(middle + self.random.integers(-spread, spread + 1, several)))
        scales = (4 * reach / (high - low) * self.random.uniform(0.5, 1.5, several)).astype(np.float32)
        kept: dict[str, Any] = {"axis": axis} if several else {}
        return self.op("DequantizeLinear", values, self.constant(scales), zero, **kept)

    def activated(self, value: str) -> str:
        name = self.rng.choice(_ACTIVATIONS)
        if name == "Clip":
            return self.op(name, value, self.constant(self.float(0)), self.constant(self.float(6)))
        return self.op(name, value) if name else value

    def layer(self, x: str) -> str:
        """A convolution or pool of a value, activated and stored; the value itself where none fits."""
        kind, (batch, channels, *sizes) = self.rng.choice(_LAYERS), self.shape[x]
        sides = [self.rng.choice([1, 2, 3, 3, 5]) for _ in sizes]
        steps = [self.rng.choice([1, 1, 1, 2, 3]) for _ in sizes]
        spread = [self.rng.choice([1, 1, 2, 3]) for _ in sizes]
        if kind == "AveragePool" and not self.seldom:
            spread = [1 for _ in sizes]
        pads = [self.rng.randint(0, side // 2) for side in (*sides, *sides)]
        rank = len(sizes)
        if kind == "ConvTranspose" and not self.seldom:
            pads[rank:] = pads[:rank]
        made: dict[str, Any] = {"strides": steps, "kernel_shape": sides, "dilations": spread, "pads": pads}
        room = [size + pads[d] + pads[d + rank] - spread[d] * (sides[d] - 1) for d, size in enumerate(sizes)]
        if min(room) < 1:
            return x
        after = [(free - 1) // step + 1 for free, step in zip(room, steps, strict=True)]
        if kind.endswith("Pool"):
            if kind == "AveragePool":
                made["count_include_pad"] = self.rng.randint(0, 1)
            y = self.op(kind, x, shape=(batch, channels, *after), **made)
            return self.stored(self.activated(y))
        groups = {"depthwise": channels, "grouped": self.rng.choice(_divisors(channels))}.get(kind, 1)
        outputs = groups * self.rng.choice([1, 1, 2, 3] if groups > 1 else [1, 3, 4, 8])
        if kind == "ConvTranspose":
            after = [
                step * (size - 1) + spread[d] * (sides[d] - 1) + 1 - pads[d] - pads[d + rank]
                for d, (size, step) in enumerate(zip(sizes, steps, strict=True))
            ]
            if min(after) < 1 or prod(after) > 1024:
                return x
            weights = self.weights((channels, outputs // groups, *sides), 1)
        else:
            kind = "Conv"
            weights = self.weights((outputs, channels // groups, *sides), 0)
        bias = [self.constant(self.random.standard_normal(outputs).astype(self.float))]
        bias = bias if self.rng.random() < 0.7 else []
        y = self.op(kind, x, weights, *bias, shape=(batch, outputs, *after), group=groups, **made)
        return self.stored(self.activated(y))

    def joined(self, x: str, y: str) -> str:
        """A value and one computed from it, summed or concatenated where shapes allow."""
        left, right = self.shape[x], self.shape[y]
        if left == right and self.rng.random() < 0.6:
            return self.stored(self.activated(self.op("Add", *self.rng.sample([x, y], 2))))
        if left[2:] == right[2:] and left[1] + right[1] <= _LARGEST:
            shape = (left[0], left[1] + right[1], *left[2:])
            both = self.op("Concat", *self.rng.sample([x, y], 2), axis=1, shape=shape)
            return self.stored(both) if self.rng.random() < 0.7 else both
        return y


def _divisors(number: int) -> list[int]:
    return [item for item in range(1, number + 1) if number % item == 0]


def varied_network(seed: int, *, single: bool = False) -> onnx.ModelProto:
    """The network of a number: always the same. Its outputs may be inner values, or its input.

    With `single`, one of f64 is of f32 instead, which onnxruntime runs.
    """
    rng = random.Random(seed)  # noqa: S311  (to be repeated)
    build = _Builder(rng, single=single)
    rank = rng.choice([1, 2, 2, 2])
    sizes = [rng.choice([5, 8, 12] if rank == 2 else [16, 33, 64]) for _ in range(rank)]
    build.shape["x"] = (rng.choice([1, 1, 2, 3]), rng.choice([1, 3, 4, 6]), *sizes)
    x = build.stored("x")
    kept = []
    for _ in range(rng.randint(2, 4)):
        y = x
        for _ in range(rng.randint(1, 2)):
            y = build.layer(y)
        x = build.joined(x, y)
        if rng.random() < 0.2:
            kept.append(x)
    outputs = [x, *kept, *(["x"] if rng.random() < 0.1 else [])]
    outputs = list(dict.fromkeys(rng.sample(outputs, len(outputs))))
    kind = TensorProto.DOUBLE if build.form == "float64" else TensorProto.FLOAT
    graph = helper.make_graph(
        build.nodes,
        f"varied-{build.form}",
        [helper.make_tensor_value_info("x", kind, build.shape["x"])],
        [helper.make_tensor_value_info(name, kind, build.shape[name]) for name in outputs],
        build.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)
