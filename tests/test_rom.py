"""Weights stay as stored: what grew is named, and no choice lets anything grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site
from serenity_mlir.dialect_passes.linalg.split_concat_conv import find
from serenity_mlir.dialect_passes.linalg.tensor_ops import compute, constant
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.stored_constants import StoredConstant, stored_constants, total_size
from serenity_mlir.pipelines.choose_rewrites import choose_rewrites
from serenity_mlir.pipelines.compile import CompileOptions, compile_model
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.rewrite_stages import Stage
from serenity_mlir.pipelines.rewrite_trials import Trials
from serenity_mlir.pipelines.rom import rom
from serenity_mlir.pipelines.targets import compiler_flags
from serenity_mlir.report import Grown
from serenity_mlir.views.rows import memory_table

PLAIN = RewriteOptions(ops=False, regions=False)


def stored(name: str, kind: str, elements: int, width: int) -> StoredConstant:
    return StoredConstant(name, ("n",), kind, elements, elements * width)


def test_what_grew_is_named_with_its_cause() -> None:
    own = [stored("w", "i8", 1000, 1), stored("b", "i32", 10, 4), stored("v", "f32", 20, 4)]
    now = [
        stored("w", "f32", 1000, 4),
        stored("b", "f32", 10, 4),
        *[stored("v", "f32", 20, 4)] * 2,
        stored("sums", "i32", 7, 4),
    ]
    found = rom(own, now)
    assert (found.model, found.stored) == (1120, 4228)
    assert found.grown == [
        Grown("w", "n", 4000, "stored as f32, where the model has i8"),
        Grown("v", "n", 80, "stored more often than in the model"),
        Grown("sums", "n", 28, "computed of the model's constants when it was compiled"),
    ]
    assert not rom(own, [*own, stored("sums", "i32", 14, 4)]).grown  # a twentieth


def test_what_one_value_fills_takes_no_storage() -> None:
    text = """
        util.global private @g = dense<[1, 2, 3]> : tensor<3xi16>
        util.global private @u = #util.uninitialized : tensor<64xi32>
        func.func @f() -> (tensor<4xf32>, tensor<2xf32>, f32) {
          %s = arith.constant dense<0.0> : tensor<4xf32>
          %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
          %n = arith.constant 1.0 : f32
          return %s, %c, %n : tensor<4xf32>, tensor<2xf32>, f32
        }"""
    module = Session(compiler_flags("generic", ())).context
    with module:
        found = stored_constants(ir.Module.parse(text).operation)
    assert [(item.name, item.kind, item.size) for item in found] == [
        ("g", "i16", 6),
        ("tensor<2xf32>", "f32", 8),
    ]


def test_a_hoisted_copy_is_found_and_rewriting_removes_it(shared: Path) -> None:
    """Stock IREE stores the 16,000 int8 weights of a matrix product as f32."""
    model = shared / "models" / "tfl_tflm_micro_speech.onnx"
    plain = compile_model(model, CompileOptions(emit="mlir", rewrite=PLAIN)).report
    ours = compile_model(model, CompileOptions(emit="mlir", rewrite=RewriteOptions(time_limit=60))).report
    assert plain is not None
    assert plain.rom is not None
    assert (plain.rom.grown[0].size, plain.rom.grown[0].location) == (64_000, "n_47")
    assert plain.rom.grown[0].reason == "stored as f32, where the model has i8"
    assert plain.memory.weights == plain.rom.stored - plain.rom.in_code
    assert ours is not None
    assert ours.rom is not None
    assert ours.rom.stored <= ours.rom.model
    assert not ours.rom.grown


def test_constants_in_code_count_before_and_after(tmp_path: Path) -> None:
    """IREE puts constants of up to 256 bytes into the code of dispatches: a bias here, no kernel."""
    draw = np.random.default_rng(0)
    parts = {"w": (8, 16, 3, 3), "b": (8,), "v": (80, 8, 1, 1), "c": (80,)}
    weights = [
        numpy_helper.from_array(draw.standard_normal(shape).astype(np.float32), name)
        for name, shape in parts.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["h"], "first"),
        helper.make_node("Conv", ["h", "v", "c"], ["y"], "second"),
    ]
    image = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 16, 8, 8])
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 80, 6, 6])
    graph = helper.make_graph(nodes, "main", [image], [result], weights)
    opset = helper.make_opsetid("", 21)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=10), tmp_path / "m.onnx")
    report = compile_model(tmp_path / "m.onnx", CompileOptions(emit="mlir", rewrite=PLAIN)).report
    assert report is not None
    assert report.rom is not None
    own = sum(4 * prod(shape) for shape in parts.values())
    assert (report.rom.model, report.rom.stored, report.rom.in_code) == (own, own, 4 * 8)
    assert report.memory.weights == own - 4 * 8
    (row,) = [row for row in memory_table(report).rows if row[0] == "weights"]
    assert (row[1], row[2], row[4], row[5]) == (f"{own:,}", f"{own:,}", "1.00x", "32 in code")


def joined(folder: Path) -> Path:
    """Two convolutions, and one of both of their results."""
    random = np.random.default_rng(0)
    shapes = {"a": (64, 2, 1, 1), "b": (64, 2, 1, 1), "c": (2, 128, 1, 1)}
    weights = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["p"], "p"),
        helper.make_node("Conv", ["x", "b"], ["q"], "q"),
        helper.make_node("Concat", ["p", "q"], ["j"], "j", axis=1),
        helper.make_node("Conv", ["j", "c"], ["y"], "y"),
    ]
    image = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2, 8, 8])
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 2, 8, 8])
    graph = helper.make_graph(nodes, "main", [image], [result], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10),
        folder / "m.onnx",
    )
    return folder / "m.onnx"


def greedy(module: ir.Operation) -> Iterator[Site | Refusal]:
    """The split of a convolution of a concatenation, which also adds a tensor of its own to the result."""
    for item in find(module):
        if isinstance(item, Refusal):
            yield item
            continue
        result = item.anchor.results[0]

        def apply(item: Site = item, result: ir.Value = result) -> None:
            kind = ir.RankedTensorType(result.type)
            uses = [(use.owner.operation, use.operand_number) for use in result.uses]
            with ir.InsertionPoint.after(item.anchor), item.anchor.location:
                values = np.arange(prod(kind.shape), dtype=np.float32).reshape(kind.shape)
                total = compute("arith.addf", kind, result, constant(ir.DenseElementsAttr.get(values)))
            for user, index in uses:
                user.operands[index] = total
            item.apply()

        yield replace(item, apply=apply)


@pytest.mark.parametrize("grows", [False, True])
def test_no_choice_lets_constants_grow(grows: bool, tmp_path: Path) -> None:
    session = Session(compiler_flags("generic", ()))
    program = trialled(joined(tmp_path), session)
    own = total_size(stored_constants(program.module))
    stage = Stage("input", (greedy if grows else find,))
    trials = Trials(program, StreamOptions(), (stage,), False, False, own)
    choice = choose_rewrites(trials, time_limit=20, progress=lambda _stage: None)
    assert len(choice.taken) == (0 if grows else 1)
    assert [item.reason for item in choice.considered if item.key in trials.sites] == (
        ["the constants that are stored would grow above the model's own"] if grows else []
    )


def trialled(model: Path, session: Session) -> Program:
    program = session.program(import_onnx(load_model(model), session.context))
    program.to_phase("input")
    return program
