"""A small net in which order is everything, written breadth first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_IMAGE = 32


def write_branches(path: Path, *, branches: int = 4, wide: int = 64) -> Path:
    """Branches of a widening and a narrowing conv, all wide ones first; then concat and conv."""
    generator = np.random.default_rng(7)
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def conv(name: str, source: str, shape: tuple[int, int]) -> str:
        array = generator.standard_normal((*shape, 3, 3)).astype(np.float32) / (3 * shape[1] ** 0.5)
        weights.append(numpy_helper.from_array(array.astype(np.float32), f"{name}_w"))
        inputs = [source, f"{name}_w"]
        nodes.append(helper.make_node("Conv", inputs, [name], name=name, pads=[1, 1, 1, 1]))
        return name

    tops = [conv(f"widen{index}", "x", (wide, 8)) for index in range(branches)]
    bottoms = [conv(f"narrow{index}", top, (4, wide)) for index, top in enumerate(tops)]
    nodes.append(helper.make_node("Concat", bottoms, ["joined"], name="join", axis=1))
    conv("y", "joined", (8, 4 * branches))
    graph = helper.make_graph(
        nodes,
        "branches",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, _IMAGE, _IMAGE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, _IMAGE, _IMAGE])],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
