"""The onnx package's light models with weights: they ship with ones made up at run time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper


def with_random_weights(model: onnx.ModelProto, seed: int = 0) -> onnx.ModelProto:
    """Put a random initializer in place of every ConstantOfShape of constant shape.

    Matrices and filters are scaled by their fan-in so that activations keep their size through
    the net; vectors are positive (some are variances). A softmax at the end is left out: where
    residual nets make its inputs large, its outputs are 0 and 1 whatever errors came before.
    """
    generator = np.random.default_rng(seed)
    constants = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in constants:
            nodes.append(node)
            continue
        shape = [int(size) for size in constants[node.input[0]]]
        if len(shape) > 1:
            fan_in = int(np.prod(shape[1:]))
            array = generator.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(fan_in))
        else:
            array = generator.uniform(0.5, 1.5, shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, node.output[0]))
    last = nodes[-1]
    if last.op_type == "Softmax":
        nodes.pop()
        model.graph.output[0].name = last.input[0]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def weight_bytes(model: onnx.ModelProto) -> int:
    """Bytes of the weights that `with_random_weights` would put in."""
    constants = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    shapes = [
        constants[node.input[0]]
        for node in model.graph.node
        if node.op_type == "ConstantOfShape" and node.input[0] in constants
    ]
    return sum(4 * int(np.prod(shape)) for shape in shapes)


def write_with_weights(source: Path, target: Path) -> None:
    """A copy of the model at `source` with random weights at `target`."""
    onnx.save(with_random_weights(onnx.load(source)), target)
