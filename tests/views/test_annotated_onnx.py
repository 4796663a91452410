"""`--annotated-onnx`: what it writes of a model, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from shown_cases import graph_of, shown_of

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.annotated_onnx import annotated_onnx
from serenity_mlir.pipelines.importing.load import load_model


def write_relu(path: Path, *, external: bool = False) -> Path:
    """x + w, then Relu; no node has a name."""
    tensor = helper.make_tensor_value_info
    weights = numpy_helper.from_array(np.ones(1024, np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])],
        "relu",
        [tensor("x", TensorProto.FLOAT, [1024])],
        [tensor("y", TensorProto.FLOAT, [1024])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=external, location="weights", size_threshold=0)
    return path


def test_all_else_is_as_it_was(tmp_path: Path) -> None:
    path = write_relu(tmp_path / "relu.onnx", external=True)
    made = onnx.load_from_string(
        annotated_onnx(load_model(path), shown_of(graph_of(3)), tmp_path / "out.onnx")
    )
    assert [node.name for node in made.graph.node] == ["Add_0", "Relu_1"]
    assert made.ir_version == 10
    for node in made.graph.node:
        node.ClearField("name")
    made.ir_version = 8
    assert made == onnx.load(path, load_external_data=False)


def test_weights_must_be_found(tmp_path: Path) -> None:
    source = load_model(write_relu(tmp_path / "relu.onnx", external=True))
    elsewhere = tmp_path / "other" / "out.onnx"
    with pytest.raises(SerenityError, match="weights lie in files beside it"):
        annotated_onnx(source, shown_of(graph_of(3)), elsewhere)
    assert annotated_onnx(load_model(write_relu(tmp_path / "whole.onnx")), shown_of(graph_of(3)), elsewhere)


def test_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "empty.mlir"
    path.write_text("module {}")
    with pytest.raises(SerenityError, match="only an ONNX model"):
        annotated_onnx(load_model(path), shown_of(graph_of(3)), tmp_path / "out.onnx")
