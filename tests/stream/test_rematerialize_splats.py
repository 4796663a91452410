"""Rematerialised splats: the meaning stays, the peak falls or nothing changes, no fill is one too many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from fills import Fills, fills
from hypothesis import HealthCheck, example, given, settings
from lowering import ALLOCATE, at_execution, finish, model_graph, run

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import access_of
from serenity_mlir.dialect_passes.stream.rematerialize_splats import RematerializeSplatsPass
from serenity_mlir.dialect_passes.stream.schedule_execution import ScheduleExecutionPass
from serenity_mlir.dialect_passes.stream.symbolic import check_order
from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.schedulers import schedule

# Two that use the splat, then a large value, then one that uses it.
NEIGHBOURS = Fills((1, 1, 12, 1, 1), ((), (0,), (1,), (2,), (3,)), 4, (0, 1, 4), (0, 0, 0), written=False)
_SQUARE = "tensor<64x64xf32>"


def _best(program: Program) -> int:
    found = schedule(model_graph(program)[1].graph)
    assert found.optimal
    return found.peak


def _peak(program: Program) -> int:
    graph = model_graph(program)[1].graph
    return peak(graph, graph.file_order)


def _splats(program: Program) -> int:
    return sum(op.name == "stream.async.splat" for op in model_graph(program)[1].ops)


def _partitions(count: int) -> Iterator[tuple[int, ...]]:
    """All ways to share among `count` users: for each the number of its group."""
    if not count:
        yield ()
        return
    for groups in _partitions(count - 1):
        for group in range(max(groups, default=-1) + 2):
            yield (*groups, group)


def _check(reference: Program, program: Program) -> None:
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    assert check_order(reference.module, program.module) == 1


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(case=fills())
@example(case=NEIGHBOURS)
def test_peak_is_that_of_the_best_sharing(case: Fills) -> None:
    """Brute force: every way to share fills, with its best order."""
    program = case.program()
    reference = program.fork()
    ScheduleExecutionPass().apply(program.module)
    before, text = _peak(program), str(program.module)
    found = RematerializeSplatsPass().apply(program.module)
    after = _peak(program)
    best = {groups: _best(replace(case, groups=groups).program()) for groups in _partitions(len(case.users))}
    assert after == min(best.values()) <= before
    assert sum(item.saved for item in found) == before - after
    assert (_splats(program) > 1) == bool(found) == (after < before)
    assert found or str(program.module) == text
    _check(reference, program)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(case=fills())
@example(case=NEIGHBOURS)
def test_no_two_neighbours_could_share(case: Fills) -> None:
    """Each fill but the first is there because sharing the one before it would raise the peak."""
    program = case.program()
    ScheduleExecutionPass().apply(program.module)
    if not RematerializeSplatsPass().apply(program.module):
        return
    after = _peak(program)
    places = [
        index for index, op in enumerate(model_graph(program)[1].ops) if op.name == "stream.async.splat"
    ]
    for earlier, later in pairwise(places):
        shared = program.fork()
        ops = model_graph(shared)[1].ops
        if not _written(ops[earlier]):
            ops[later].results[0].replace_all_uses_with(ops[earlier].results[0])
            ops[later].erase()
            assert _peak(shared) > after


def _written(splat: ir.Operation) -> bool:
    return any(access_of(use.owner.operation).writes for use in splat.results[0].uses)


def test_a_compiled_program_computes_the_same() -> None:
    """The constant matrix is read by the first product and by the last."""
    product = f"ins({{}}, {{}} : {_SQUARE}, {_SQUARE}) outs(%z : {_SQUARE}) -> {_SQUARE}"
    steps = [("%s", "%x"), ("%p0", "%x"), ("%p1", "%p0"), ("%p2", "%s")]
    text = "\n".join(
        [
            f"func.func @main(%x: {_SQUARE}) -> {_SQUARE} {{",
            "%c0 = arith.constant 0.0 : f32",
            "%c1 = arith.constant 0.015625 : f32",
            f"%e = tensor.empty() : {_SQUARE}",
            f"%z = linalg.fill ins(%c0 : f32) outs(%e : {_SQUARE}) -> {_SQUARE}",
            f"%s = flow.tensor.splat %c1 : {_SQUARE}",
            *(f"%p{number} = linalg.matmul {product.format(*pair)}" for number, pair in enumerate(steps)),
            f"return %p3 : {_SQUARE}",
            "}",
        ]
    )
    program = at_execution(text)
    reference = program.fork()
    ScheduleExecutionPass().apply(program.module)
    (found,) = RematerializeSplatsPass().apply(program.module)
    assert (found.saved, found.schedule.schedule and found.schedule.schedule.peak) == (16384, 49152)
    _check(reference, program)
    x = (np.random.default_rng(0).standard_normal((64, 64)) / 8).astype(np.float32)
    s = np.full((64, 64), 1 / 64, np.float32)
    first = s @ x
    (result,) = run(finish(program), [x])
    np.testing.assert_allclose(result, (first @ x) @ first @ s, rtol=1e-4, atol=1e-6)
