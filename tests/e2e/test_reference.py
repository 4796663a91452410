"""Verification without onnxruntime: onnx's own evaluator stands in, and is named."""

from __future__ import annotations

import sys
from pathlib import Path

import corpus
import numpy as np
import onnx
import pytest
from harness import assert_close
from onnx import TensorProto, helper

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.reference import reference_name, run_reference
from serenity_mlir.pipelines.verify import random_inputs


@pytest.mark.parametrize("model", corpus.shared_models())
def test_both_references_agree(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = load_model(model)
    inputs = random_inputs(source.inputs)
    assert reference_name() == "onnxruntime"
    expected = run_reference(source, inputs)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert reference_name() == "onnx.reference"
    assert_close(run_reference(source, inputs), expected)


def test_what_onnx_cannot_evaluate_needs_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = helper.make_node("FusedMatMul", ["x", "x"], ["y"], domain="com.microsoft")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = tmp_path / "fused.onnx"
    onnx.save(helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=opsets), model)
    source = SourceModel(model, sha256="", format="onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SerenityError, match=r"cannot run this model: .*FusedMatMul") as raised:
        run_reference(source, {"x": np.ones((2, 2), np.float32)})
    assert "pip install onnxruntime" in str(raised.value)
