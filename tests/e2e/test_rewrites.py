"""Rewrites from the command line: they save what they should, compute the same, and are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from harness import compile_model
from iree import runtime
from onnx import TensorProto, helper, numpy_helper
from test_search_fusion import depthwise_int8

import serenity_mlir.pipelines.lower_rewritten as lowering
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.pipelines.compile import compile_model as compile_in_process
from serenity_mlir.pipelines.iree_types import CompilerError
from serenity_mlir.pipelines.lower import lower_to
from serenity_mlir.report import Report

CHANNELS, SIZE, BRANCHES = 16, 32, 4
NO_REGIONS = "--no-regions"


def cell(path: Path, *, depthwise: bool) -> Path:
    """Four branches joined, and a depthwise 3x3 or a pointwise convolution of all of them."""
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def weight(*shape: int) -> str:
        scale = np.prod(shape[1:]) ** -0.5
        array = (rng.standard_normal(shape) * scale).astype(np.float32)
        weights.append(numpy_helper.from_array(array, f"w{len(weights)}"))
        return weights[-1].name

    for index in range(BRANCHES):
        made = ["x", weight(CHANNELS, CHANNELS, 3, 3)]
        nodes.append(helper.make_node("Conv", made, [f"b{index}"], name=f"branch{index}", pads=[1] * 4))
    branches = [f"b{index}" for index in range(BRANCHES)]
    nodes.append(helper.make_node("Concat", branches, ["j"], name="join", axis=1))
    joined = BRANCHES * CHANNELS
    if depthwise:
        made = ["j", weight(joined, 1, 3, 3)]
        nodes.append(helper.make_node("Conv", made, ["y"], name="last", group=joined, pads=[1] * 4))
    else:
        nodes.append(helper.make_node("Conv", ["j", weight(CHANNELS, joined, 1, 1)], ["y"], name="last"))
    shape = [1, CHANNELS, SIZE, SIZE]
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def result_of(artefact: Path) -> npt.NDArray[np.float32]:
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(
        runtime.VmModule.copy_buffer(config.vm_instance, artefact.read_bytes()), config
    )
    x = np.random.default_rng(1).standard_normal((1, CHANNELS, SIZE, SIZE)).astype(np.float32)
    return np.array(module["main"](x).to_host())


def slab_of(report: Report) -> int:
    assert report.memory.slab is not None
    assert report.memory.slab == report.memory.final.arena
    return report.memory.slab


@pytest.mark.parametrize("depthwise", [True, False], ids=["depthwise", "pointwise"])
def test_the_slab_falls_by_a_third_and_results_agree(depthwise: bool, tmp_path: Path) -> None:
    model = cell(tmp_path / "cell.onnx", depthwise=depthwise)
    _, plain = compile_model(model, tmp_path, "--no-rewrite", NO_REGIONS)
    _, report = compile_model(model, tmp_path, NO_REGIONS, "--verify", "--compare-stock")
    assert slab_of(report) <= 0.7 * slab_of(plain)
    assert (plain.as_written, report.as_written) == (None, slab_of(plain))
    assert report.verify is not None
    assert report.verify.passed
    pattern = "split-concat-depthwise-conv" if depthwise else "split-concat-conv"
    (taken,) = [item for item in report.rewrites if item.pattern == pattern]
    assert taken.location == "last"
    assert taken.saved == slab_of(plain) - slab_of(report)
    assert report.memory.weights == plain.memory.weights
    # 16 x 16 x 3 x 3 products for each of 4 x 32 x 32 elements, and those of the last convolution.
    last = 9 * BRANCHES * CHANNELS if depthwise else BRANCHES * CHANNELS * CHANNELS
    work = SIZE * SIZE * (BRANCHES * CHANNELS * CHANNELS * 9 + last)
    assert report.price is not None
    assert report.price.macs == (work, work)
    assert report.price.weights == (plain.memory.weights, report.memory.weights)
    assert report.price.ops[1] == report.schedule.ops
    assert report.price.latency == 1.0
    # Stock is measured on the model as it is.
    assert report.memory.stock is not None
    assert report.memory.stock.best is not None
    assert report.memory.stock.best >= slab_of(plain)


def test_exact_leaves_out_what_reassociates(tmp_path: Path) -> None:
    model = cell(tmp_path / "cell.onnx", depthwise=False)
    artefact, plain = compile_model(model, tmp_path, "--no-rewrite", NO_REGIONS)
    expected = result_of(artefact)
    artefact, report = compile_model(model, tmp_path, NO_REGIONS, "--exact")
    assert not [item for item in report.rewrites if item.pattern == "split-concat-conv"]
    assert [item.reason for item in report.considered if item.location == "last"] == [
        "it reassociates sums, and results are to stay exact"
    ]
    assert slab_of(report) <= slab_of(plain)
    np.testing.assert_array_equal(result_of(artefact), expected)


def test_exact_leaves_floats_next_to_each_other_alone(tmp_path: Path) -> None:
    """Splitting a depthwise convolution adds up the same, but what is fused into its neighbours changes."""
    model = cell(tmp_path / "cell.onnx", depthwise=True)
    artefact, plain = compile_model(model, tmp_path, "--no-rewrite", NO_REGIONS)
    expected = result_of(artefact)
    artefact, report = compile_model(model, tmp_path, "--exact")
    assert not [item for item in report.rewrites if item.pattern.startswith(("split", "form"))]
    assert any("sums of floats" in item.reason for item in report.considered if item.location == "last")
    assert slab_of(report) <= slab_of(plain)
    np.testing.assert_array_equal(result_of(artefact), expected)


def test_exact_takes_what_adds_up_integers(tmp_path: Path) -> None:
    path = tmp_path / "depthwise.onnx"
    path.write_bytes(depthwise_int8().SerializeToString())
    _, report = compile_model(path, tmp_path, "--objective", "memory")
    _, exact = compile_model(path, tmp_path, "--exact", "--verify", "--objective", "memory")
    assert report.rewrites
    assert [item.pattern for item in exact.rewrites] == [item.pattern for item in report.rewrites]
    assert slab_of(exact) == slab_of(report)
    assert exact.verify is not None
    assert exact.verify.max_abs == 0


def test_what_is_slow_is_for_memory_alone(tmp_path: Path) -> None:
    """Padding on reading slows the one convolution by more than a tenth."""
    path = tmp_path / "depthwise.onnx"
    path.write_bytes(depthwise_int8().SerializeToString())
    _, balanced = compile_model(path, tmp_path)
    _, memory = compile_model(path, tmp_path, "--objective", "memory", "--verify")
    assert slab_of(memory) < slab_of(balanced)
    assert "pad-on-read" in {item.pattern for item in memory.rewrites}
    assert "pad-on-read" not in {item.pattern for item in balanced.rewrites}
    assert any("times as long" in item.reason for item in balanced.considered)
    assert memory.price is not None
    assert memory.price.latency > 1.1
    assert memory.verify is not None
    assert memory.verify.max_abs == 0


def test_what_iree_cannot_compile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowering fails as long as the rewritten convolution is there, and names its node."""
    model = cell(tmp_path / "cell.onnx", depthwise=True)
    tried = []

    def failing(program: Any, *arguments: Any) -> Any:
        rewritten = program.print_ir().count("linalg.depthwise_conv") != 1
        tried.append(rewritten)
        if rewritten:
            raise CompilerError("last:12:1: failed to run translation of source executable", [])
        return lower_to(program, *arguments)

    monkeypatch.setattr(lowering, "lower_to", failing)
    compiled = compile_in_process(
        model, CompileOptions(rewrite=lowering.RewriteOptions(regions=False, time_limit=30))
    )
    assert tried == [True, False]
    assert compiled.report is not None
    assert not compiled.report.rewrites
    (left,) = [item for item in compiled.report.considered if "failed to run" in item.reason]
    assert (left.pattern, left.location) == ("split-concat-depthwise-conv", "last")
