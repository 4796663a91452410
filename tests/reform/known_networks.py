"""Networks of the kinds that channel pruning is known to get wrong, each small enough to compile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from channel_networks import Builder, QuantisedBuilder

SIDE = 6
INPUT = (1, 3, SIDE, SIDE)


def shuffle_net() -> onnx.ModelProto:
    """Grouped and depthwise convolutions around a channel shuffle, and a residual sum."""
    build = Builder(1)
    x = build.op("Relu", build.norm(build.conv("x", 3, 12), 12))
    y = build.op("Relu", build.norm(build.conv(x, 12, 24, kernel=1, group=3), 24))
    y = build.shuffle(y, 24, 3, SIDE)
    y = build.norm(build.conv(y, 24, 24, group=24), 24)
    y = build.norm(build.conv(y, 24, 12, kernel=1, group=3), 12)
    z = build.op("Relu", build.op("Add", x, y))
    return build.model({"x": INPUT}, build.gemm(build.op("Flatten", z), 12 * SIDE * SIDE, 5))


def dense_net() -> onnx.ModelProto:
    """A repeated operand of a concatenation, scales of 0, shared filters, NHWC to a classifier."""
    build = Builder(2)
    one = build.conv("x", 3, 6)
    two = build.op("Conv", build.op("Relu", one), build.weight(6, 6, 3, 3), pads=[1] * 4)
    three = build.op("Conv", two, build.nodes[-1].input[1], pads=[1] * 4)
    joined = build.op("Concat", one, three, two, one, axis=1)
    normal = build.op("Relu", build.norm(joined, 24, zero_scale=(1, 8, 17)))
    narrow = build.conv(normal, 24, 8, kernel=1)
    flat = build.op("Flatten", build.op("Transpose", build.op("Relu", narrow), perm=[0, 2, 3, 1]))
    return build.model({"x": INPUT}, build.gemm(flat, 8 * SIDE * SIDE, 4))


def excited_net() -> onnx.ModelProto:
    """Squeeze and excite, a split whose halves swap, a transposed convolution."""
    build = Builder(3)
    wide = build.op("HardSwish", build.conv("x", 3, 8))
    inner = build.op("Relu", build.conv(build.op("GlobalAveragePool", wide), 8, 4, kernel=1))
    scaled = build.op("Mul", wide, build.op("Sigmoid", build.conv(inner, 4, 8, kernel=1)))
    sizes = build.constant([3, 5], np.int64)
    one, other = build.ops("Split", scaled, sizes, outputs=2, axis=1)
    swapped = build.op("Concat", other, one, axis=1)
    back = build.op("ConvTranspose", swapped, build.weight(8, 6, 3, 3), build.weight(6), pads=[1] * 4)
    return build.model({"x": INPUT}, build.conv(back, 6, 2))


def quantised_net() -> onnx.ModelProto:
    """Layers of int8, per channel and per tensor, a residual sum, a concatenation and a classifier."""
    build = QuantisedBuilder(4)
    parameters = build.constant(0.05, np.float32), build.constant(3, np.int8)
    x = build.op("DequantizeLinear", "x", *parameters)
    one = build.layer(x, 3, 8)
    two = build.layer(one, 8, 8, group=8)
    three = build.layer(two, 8, 8, per_channel=False)
    added = build.scale(build.op("Add", one, three), 0.03, -90)
    joined = build.op("Concat", build.layer(added, 8, 6), added, axis=1)
    flat = build.op("Flatten", build.op("GlobalAveragePool", build.scale(joined, 0.02, -100)))
    weight = build.quantised(14, 4, axis=1)
    last = build.op("Gemm", build.scale(flat, 0.02, -100), weight, build.bias(4))
    y = build.op("QuantizeLinear", last, build.constant(0.01, np.float32), build.constant(5, np.int8))
    return build.model({"x": INPUT}, y, dtype=np.int8)


def operator_net() -> onnx.ModelProto:
    """Convolutions of integers with zero points, depthwise in the middle."""
    build = QuantisedBuilder(5)
    parameters = build.constant(0.05, np.float32), build.constant(100, np.uint8)
    value, read = build.op("QuantizeLinear", "x", *parameters), 3
    for outputs, group in ((8, 1), (8, 8), (6, 1), (3, 1)):
        shape = (outputs, read // group, 3, 3)
        weight = build.constant(build.rng.integers(0, 256, shape), np.uint8)
        scales = build.constant(0.01, np.float32), build.constant(117, np.uint8)
        bias = build.constant(build.rng.integers(-500, 500, outputs), np.int32)
        made = build.constant(0.07, np.float32), build.constant(90, np.uint8)
        operands = [value, *parameters, weight, *scales, *made, bias]
        value, read = build.op("QLinearConv", *operands, group=group, pads=[1] * 4), outputs
        parameters = made
    return build.model({"x": INPUT}, build.op("DequantizeLinear", value, *parameters))


KNOWN: dict[str, Callable[[], onnx.ModelProto]] = {
    "shuffle": shuffle_net,
    "dense": dense_net,
    "excited": excited_net,
    "quantised": quantised_net,
    "operator": operator_net,
}
