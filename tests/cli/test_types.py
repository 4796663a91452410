"""Element types at the boundary: a plain user of IREE's runtime gets what the model declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from iree import runtime
from onnx import TensorProto, helper, numpy_helper

from serenity_mlir.pipelines.cli import main as cli


def _save(path: Path, nodes: list[onnx.NodeProto], kind: int, *constants: onnx.TensorProto) -> Path:
    graph = helper.make_graph(
        nodes,
        "types",
        [helper.make_tensor_value_info("x", kind, [4])],
        [helper.make_tensor_value_info("y", kind, [4])],
        list(constants),
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def _run(artefact: Path, argument: npt.NDArray[Any]) -> npt.NDArray[Any]:
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(
        runtime.VmModule.copy_buffer(config.vm_instance, artefact.read_bytes()), config
    )
    result = module["types"](argument)
    copied: npt.NDArray[Any] = result.to_host().copy()
    return copied


def test_unsigned_results_are_unsigned(tmp_path: Path) -> None:
    scale = numpy_helper.from_array(np.array(0.5, np.float32), "scale")
    zero = numpy_helper.from_array(np.array(0, np.uint8), "zero")
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["f"]),
        helper.make_node("Add", ["f", "f"], ["g"]),
        helper.make_node("QuantizeLinear", ["g", "scale", "zero"], ["y"]),
    ]
    model = _save(tmp_path / "m.onnx", nodes, TensorProto.UINT8, scale, zero)
    artefact = tmp_path / "m.vmfb"
    assert cli.main(["compile", str(model), "-o", str(artefact), "--verify"]) == 0
    found = _run(artefact, np.array([0, 1, 100, 200], np.uint8))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, [0, 2, 200, 255])


@pytest.mark.parametrize("flags", [[], ["--", "--iree-llvmcpu-debug-symbols=false"]])
def test_doubles_stay_doubles(tmp_path: Path, flags: list[str]) -> None:
    model = _save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "x"], ["y"])], TensorProto.DOUBLE)
    artefact = tmp_path / "m.vmfb"
    assert cli.main(["compile", str(model), "-o", str(artefact), "--verify", *flags]) == 0
    found = _run(artefact, np.array([1e-17, 1.0, 1 / 3, -2.0]))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [2e-17, 2.0, 2 / 3, -4.0])
