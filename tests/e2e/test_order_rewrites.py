"""Networks whose slab falls by a rewrite of the order alone, compiled by the command line and run."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from harness import assert_close, compile_model, run_twice
from onnx import helper, numpy_helper
from tiny_models import model

from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.reference import run_reference
from serenity_mlir.pipelines.verify import random_inputs

_MAP = 8 * 16 * 16 * 4
_SQUARE = "tensor<64x64xf32>"
_SHARED_FILL = f"""
func.func @main(%x: {_SQUARE}) -> {_SQUARE} {{
  %c0 = arith.constant 0.0 : f32
  %c1 = arith.constant 0.015625 : f32
  %e = tensor.empty() : {_SQUARE}
  %z = linalg.fill ins(%c0 : f32) outs(%e : {_SQUARE}) -> {_SQUARE}
  %s = flow.tensor.splat %c1 : {_SQUARE}
  %a = linalg.matmul ins(%s, %x : {_SQUARE}, {_SQUARE}) outs(%z : {_SQUARE}) -> {_SQUARE}
  %b = linalg.matmul ins(%a, %x : {_SQUARE}, {_SQUARE}) outs(%z : {_SQUARE}) -> {_SQUARE}
  %c = linalg.matmul ins(%b, %a : {_SQUARE}, {_SQUARE}) outs(%z : {_SQUARE}) -> {_SQUARE}
  %d = linalg.matmul ins(%c, %s : {_SQUARE}, {_SQUARE}) outs(%z : {_SQUARE}) -> {_SQUARE}
  return %d : {_SQUARE}
}}
"""


def _dense_block(operands: list[str]) -> onnx.ModelProto:
    """Five convolutions, each of the one before, a concat of their results in any order, and one more."""
    generator = np.random.default_rng(0)
    names = ["x", "c0", "c1", "c2", "c3", "c4"]
    weights = [("w0", 8), ("w1", 8), ("w2", 8), ("w3", 8), ("w4", 8), ("w", 40)]
    nodes = [
        helper.make_node("Conv", [before, f"w{index}"], [after], name=f"conv{index}")
        for index, (before, after) in enumerate(pairwise(names))
    ]
    nodes.append(helper.make_node("Concat", operands, ["all"], name="join", axis=1))
    nodes.append(helper.make_node("Conv", ["all", "w"], ["y"], name="last"))
    arrays = [
        numpy_helper.from_array(generator.normal(0, 0.35, (8, channels, 1, 1)).astype(np.float32), name)
        for name, channels in weights
    ]
    return model(nodes, (1, 8, 16, 16), weights=arrays)


@pytest.mark.parametrize("last_first", [False, True])
def test_the_order_of_concat_operands_costs_nothing(last_first: bool, tmp_path: Path) -> None:
    """Chained as the file has them, the updates for the last one first would keep all five alive."""
    operands = [f"c{index}" for index in range(5)]
    path = tmp_path / "dense.onnx"
    onnx.save(_dense_block(operands[::-1] if last_first else operands), path)
    artefact, report = compile_model(path, tmp_path, "--no-rewrite", "--no-regions")
    memory = report.memory
    assert memory.slab is not None
    # The concat, one map that is read, one that is written.
    assert (memory.slab, memory.optimal) == ((5 + 2) * _MAP, True)
    found = [(item.pattern, item.location.split(": ")[1], item.saved) for item in report.rewrites]
    assert found == ([("re-chain", "alloca [join]", 2 * _MAP)] if last_first else [])
    source = load_model(path)
    inputs = random_inputs(source.inputs)
    run = run_twice(artefact, inputs, memory.slab, tmp_path)
    assert run.allocator_peak == memory.ram
    for results in (run.first, run.second):
        assert_close(results, run_reference(source, inputs))


def test_inputs_and_outputs_in_the_arena_count(tmp_path: Path) -> None:
    """The input is there until the first convolution has run, the output when the concat still is."""
    path = tmp_path / "dense.onnx"
    onnx.save(_dense_block([f"c{index}" for index in range(5)][::-1]), path)
    _, report = compile_model(path, tmp_path, "--io", "arena", "--no-rewrite", "--no-regions")
    memory = report.memory
    assert (memory.io, memory.ram, memory.optimal) == ("arena", (5 + 2) * _MAP, True)
    assert [(item.pattern, item.saved) for item in report.rewrites] == [("re-chain", 2 * _MAP)]
    assert memory.file_order.peak == memory.file_order.arena == (5 + 4) * _MAP


def test_a_shared_fill_is_made_twice(tmp_path: Path) -> None:
    path = tmp_path / "fill.mlir"
    path.write_text(_SHARED_FILL)
    artefact, report = compile_model(path, tmp_path, "--no-rewrite", "--no-regions")
    memory = report.memory
    assert memory.slab is not None
    assert (memory.slab, memory.optimal) == (3 * 64 * 64 * 4, True)
    assert [(item.pattern, item.saved) for item in report.rewrites] == [("rematerialise splat", 64 * 64 * 4)]
    x = (np.random.default_rng(0).standard_normal((64, 64)) / 8).astype(np.float32)
    run = run_twice(artefact, {"x": x}, memory.slab, tmp_path)
    assert run.allocator_peak == memory.ram
    fill = np.full((64, 64), 1 / 64, np.float32)
    first = fill @ x
    assert_close(run.first, [first @ x @ first @ fill])
