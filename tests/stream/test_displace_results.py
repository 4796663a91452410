"""Results taken out of their places: the meaning stays, undoing restores the text, gains are real."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import ALLOCATE, at_execution, finish, model_graph, run

from serenity_mlir.dialect_passes.stream.displace_results import DisplaceResultsPass
from serenity_mlir.dialect_passes.stream.placed_results import placed_results
from serenity_mlir.dialect_passes.stream.schedule_execution import ScheduleExecutionPass
from serenity_mlir.dialect_passes.stream.symbolic import check_order
from serenity_mlir.errors import CheckFailed
from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.iree_api import Program

PARTS, ROWS, SIZE = 4, 8, 16
WIDE = 256


def program_text() -> str:
    """A wide product, narrowed to a strip, and more strips, concatenated."""
    strip, wide = f"tensor<{ROWS}x{SIZE}xf32>", f"tensor<{ROWS}x{WIDE}xf32>"
    whole = f"tensor<{ROWS * PARTS}x{SIZE}xf32>"
    widen, narrow = f"tensor<{SIZE}x{WIDE}xf32>", f"tensor<{WIDE}x{SIZE}xf32>"
    square = f"tensor<{SIZE}x{SIZE}xf32>"
    lines = ["%c0 = arith.constant 0.0 : f32"]
    for name, kind in (("s", strip), ("w", wide), ("a", whole)):
        lines += [
            f"%e{name} = tensor.empty() : {kind}",
            f"%z{name} = linalg.fill ins(%c0 : f32) outs(%e{name} : {kind}) -> {kind}",
        ]
    lines += [
        f"%w = linalg.matmul ins(%x, %u : {strip}, {widen}) outs(%zw : {wide}) -> {wide}",
        f"%n0 = linalg.matmul ins(%w, %v : {wide}, {narrow}) outs(%zs : {strip}) -> {strip}",
    ]
    for part in range(1, PARTS):
        operands = f"ins(%x, %q{part} : {strip}, {square}) outs(%zs : {strip})"
        lines.append(f"%n{part} = linalg.matmul {operands} -> {strip}")
    names, kinds = ", ".join(f"%n{part}" for part in range(PARTS)), ", ".join([strip] * PARTS)
    lines += [
        f"%c = tensor.concat dim(0) {names} : ({kinds}) -> {whole}",
        f"%r = linalg.matmul ins(%c, %q0 : {whole}, {square}) outs(%za : {whole}) -> {whole}",
        f"return %r : {whole}",
    ]
    squares = ", ".join(f"%q{part}: {square}" for part in range(PARTS))
    arguments = f"%x: {strip}, %u: {widen}, %v: {narrow}, {squares}"
    return f"func.func @main({arguments}) -> {whole} {{\n  " + "\n  ".join(lines) + "\n}\n"


def inputs() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    data = np.random.default_rng(0)
    shapes = [(ROWS, SIZE), (SIZE, WIDE), (WIDE, SIZE), *[(SIZE, SIZE)] * PARTS]
    return [(data.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes]


def expected() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    x, u, v, *q = inputs()
    strips = [x @ u @ v, *(x @ square for square in q[1:])]
    found: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = np.concatenate(strips) @ q[0]
    return found


def live_peak(program: Program) -> int:
    graph = model_graph(program)[1].graph
    return peak(graph, graph.file_order)


def test_taken_out_computes_the_same() -> None:
    program = at_execution(program_text())
    reference = program.fork()
    region, _ = model_graph(program)
    found = list(placed_results(region))
    assert found
    for item in found:
        item.separate()
        item.settle()
    assert not list(placed_results(region))
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    assert check_order(reference.module, program.module) == 1
    np.testing.assert_allclose(run(finish(program), inputs())[0], expected(), rtol=1e-5, atol=1e-5)


def test_undone_is_as_before() -> None:
    program = at_execution(program_text())
    region, _ = model_graph(program)
    before, found = program.print_ir(), list(placed_results(region))
    for item in found:
        item.separate()
    assert program.print_ir() != before
    for item in reversed(found):
        item.undo()
    assert program.print_ir() == before


def test_kept_only_where_it_gains() -> None:
    program = at_execution(program_text())
    ScheduleExecutionPass().apply(program.module)
    reference, before = program.fork(), live_peak(program)
    (found,) = DisplaceResultsPass().apply(program.module)
    assert found.saved > 0
    assert live_peak(program) <= before - found.saved
    assert DisplaceResultsPass().apply(program.module) == []
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    assert check_order(reference.module, program.module) == 1


def test_a_wrong_slice_is_caught() -> None:
    program = at_execution(program_text())
    reference = program.fork()
    region, _ = model_graph(program)
    first, second, *_ = placed_results(region)
    for item in (first, second):
        item.separate()
        item.settle()
    one, other = (item.dispatch for item in (first, second))
    updates = [next(iter(op.results[0].uses)).owner for op in (one, other)]
    updates[1].operands[4] = one.results[0]  # what the first dispatch made, twice
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    with pytest.raises(CheckFailed):
        check_order(reference.module, program.module)
