"""A value that a branch hands on is read after an update in place of what came of it (decision 0107)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from harness import compile_model
from iree import runtime
from onnx import TensorProto, helper, numpy_helper


def _model() -> onnx.ModelProto:
    """v = Sin(x); y = v + v if c else v; z is y with its row 1 replaced; z and v are returned."""
    shape = [4, 4]
    twice = helper.make_graph(
        [helper.make_node("Add", ["v", "v"], ["twice"])],
        "then",
        [],
        [helper.make_tensor_value_info("twice", TensorProto.FLOAT, shape)],
    )
    same = helper.make_graph(
        [helper.make_node("Identity", ["v"], ["same"])],
        "else",
        [],
        [helper.make_tensor_value_info("same", TensorProto.FLOAT, shape)],
    )
    nodes = [
        helper.make_node("Sin", ["x"], ["v"]),
        helper.make_node("If", ["c"], ["y"], then_branch=twice, else_branch=same),
        helper.make_node("ScatterND", ["y", "rows", "row"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "kept",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("z", "v")],
        [
            numpy_helper.from_array(np.array([[1]], np.int64), "rows"),
            numpy_helper.from_array(np.full((1, 4), -3, np.float32), "row"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("flag", [False, True])
def test_what_a_branch_hands_on_is_not_overwritten(flag: bool, tmp_path: Path) -> None:
    path = tmp_path / "kept.onnx"
    onnx.save(_model(), path)
    artefact, _ = compile_model(path, tmp_path)
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(
        runtime.VmModule.copy_buffer(config.vm_instance, artefact.read_bytes()), config
    )
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    z, v = (item.to_host() for item in module["kept"](x, np.array(flag)))
    expected = np.sin(x) * (2 if flag else 1)
    expected[1] = -3
    np.testing.assert_allclose(v, np.sin(x), atol=1e-6)
    np.testing.assert_allclose(z, expected, atol=1e-6)
