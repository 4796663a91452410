"""Small ONNX networks for the tests of the train extra, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes

Array = np.ndarray[Any, Any]


def one_node(
    op: str,
    inputs: Sequence[Array],
    constants: Mapping[int, Array],
    attributes: Mapping[str, Any],
    outputs: int = 1,
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model of one op, and its inputs by name.

    Args:
        op: The operator.
        inputs: What it is run on, in the order of its operands that are no constants.
        constants: Operands by their place, as initializers.
        attributes: Of the node.
        outputs: How many results it has.
    """
    count = len(inputs) + len(constants)
    values, names, feeds = iter(inputs), [], {}
    initializers = []
    places = range(max([*constants, count - 1]) + 1)
    for place in places:
        name = f"x{place}"
        if place in constants:
            initializers.append(numpy_helper.from_array(constants[place], name))
        else:
            value = next(values, None)
            name = name if value is not None else ""
            if value is not None:
                feeds[name] = value
        names.append(name)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feeds.items()
    ]
    results = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(op, names, results, name="n", **attributes)
    made = [helper.make_empty_tensor_value_info(name) for name in results]
    graph = helper.make_graph([node], "g", declared, made, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return infer_shapes(onnx.shape_inference.infer_shapes(model)), feeds


def classifier(seed: int, *, batch: int | str = "N", softmax: bool = False) -> onnx.ModelProto:
    """(N, 2, 6, 6) to 3 classes: a convolution, batch normalisation, a residual convolution, a Gemm."""
    rng = np.random.default_rng(seed)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((rng.standard_normal(shape) * 0.4).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c1", "s", "t", "m", "v"], ["n1"], name="bn"),
        helper.make_node("Relu", ["n1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], name="conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["a"], name="add"),
        helper.make_node("Relu", ["a"], ["r2"], name="relu2"),
        helper.make_node("MaxPool", ["r2"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["h"], name="hidden", transB=1),
        helper.make_node("Relu", ["h"], ["r3"], name="relu3"),
        helper.make_node("Gemm", ["r3", "w4", "b4"], ["y"], name="classes", transB=1),
    ]
    if softmax:
        nodes.append(helper.make_node("Softmax", ["y"], ["z"], name="softmax"))
    weights = [
        weight("w1", 8, 2, 3, 3), weight("b1", 8), weight("s", 8), weight("t", 8), weight("m", 8),
        numpy_helper.from_array(np.full(8, 1.5, np.float32), "v"),
        weight("w2", 8, 8, 3, 3), weight("b2", 8),
        weight("w3", 16, 72), weight("b3", 16), weight("w4", 3, 16), weight("b4", 3),
    ]  # fmt: skip
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 2, 6, 6])
    y = helper.make_tensor_value_info("z" if softmax else "y", TensorProto.FLOAT, [batch, 3])
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    return infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def samples(count: int, seed: int) -> tuple[dict[str, Array], Array]:
    """Images of three classes for `classifier`: a bar in one of three pairs of rows, and noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    images = rng.standard_normal((count, 2, 6, 6)).astype(np.float32) * 0.5
    for image, label in zip(images, labels, strict=True):
        image[:, 2 * label : 2 * label + 2] += 1.0
    return {"x": images}, labels
