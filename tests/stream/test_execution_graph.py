"""The memory graph of an execution region against what IREE makes of the same region."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from lowering import ALLOCATE, at_execution, finish, model_graph, order_with, random_order, run, ssa_preds
from programs import random_program

from serenity_mlir.arena import ArenaPlan, plan
from serenity_mlir.dialect_passes.stream.execution_graph import ExecutionGraph
from serenity_mlir.dialect_passes.stream.layout_slices import LayoutSlicesPass, RegionPlan
from serenity_mlir.dialect_passes.stream.schedule_execution import ScheduleExecutionPass, reorder
from serenity_mlir.dialect_passes.stream.slab import compiled_allocations
from serenity_mlir.dialect_passes.stream.symbolic import check_layout, check_order
from serenity_mlir.errors import CheckFailed
from serenity_mlir.liveness import Slice, peak

_SEEDS = range(24)


@pytest.mark.parametrize("seed", _SEEDS)
def test_peak_is_what_iree_packs_in_any_legal_order(seed: int) -> None:
    program = at_execution(random_program(seed).text)
    region, found = model_graph(program)
    order = random_order(found.graph.preds, random.Random(seed))
    expected = peak(found.graph, order)
    reference = program.fork()
    reorder(region, [found.ops[index] for index in order])
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    assert check_order(reference.module, program.module) == 1
    slabs = [item for item in LayoutSlicesPass().apply(program.module) if item.kind == "slab"]
    assert sum(item.peak for item in slabs) == expected


def _hidden_pairs(found: ExecutionGraph) -> list[tuple[int, int, list[int]]]:
    """Pairs that only aliasing orders, each with an order that SSA allows and that swaps them."""
    by_ssa = ssa_preds(found)
    out = []
    for index, preds in enumerate(found.graph.preds):
        for pred in set(preds) - set(by_ssa[index]):
            order = order_with(by_ssa, index, pred, random.Random(index))
            if order is not None:
                out.append((pred, index, order))
    return out


def test_every_broken_write_after_read_is_caught() -> None:
    """Swap each such pair: either the check sees it, or no result depends on it."""
    caught = 0
    for seed in range(64):
        source = random_program(seed, ops=12)
        program = at_execution(source.text)
        for _, _, order in _hidden_pairs(model_graph(program)[1]):
            broken, reference = program.fork(), program.fork()
            region, found = model_graph(broken)
            reorder(region, [found.ops[index] for index in order])
            reference.run(ALLOCATE)
            broken.run(ALLOCATE)
            try:
                check_order(reference.module, broken.module)
            except CheckFailed:
                caught += 1
                continue
            for result, expected in zip(run(finish(broken), source.inputs), source.expected, strict=True):
                np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6)
    assert caught >= 10


@pytest.mark.parametrize("case", ["mlir_write_after_read", "mlir_output_in_place"])
def test_hidden_pairs_of_the_cases_are_caught(shared: Path, case: str) -> None:
    """Both hold a reader and a later write in place of one storage, with no SSA edge between."""
    program = at_execution((shared / "cases" / case / "model.mlir").read_text())
    pairs = _hidden_pairs(model_graph(program)[1])
    assert pairs
    for _, _, order in pairs:
        broken, reference = program.fork(), program.fork()
        region, found = model_graph(broken)
        reorder(region, [found.ops[index] for index in order])
        reference.run(ALLOCATE)
        broken.run(ALLOCATE)
        with pytest.raises(CheckFailed, match="holds something else"):
            check_order(reference.module, broken.module)


@pytest.mark.parametrize("seed", range(8))
def test_scheduled_programs_compute_the_same(seed: int) -> None:
    source = random_program(seed, ops=12)
    program = at_execution(source.text)
    _, found = model_graph(program)
    before = peak(found.graph, found.graph.file_order)
    (schedule,) = [item for item in ScheduleExecutionPass().apply(program.module) if item.role == "model"]
    assert schedule.schedule is not None
    assert schedule.schedule.optimal
    assert schedule.schedule.peak <= before
    program.run(ALLOCATE)
    LayoutSlicesPass().apply(program.module)
    artefact = finish(program)
    assert compiled_allocations(program.module)[schedule.schedule.peak] or not schedule.schedule.peak
    for result, expected in zip(run(artefact, source.inputs), source.expected, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6)


def _instead_of(slices: Sequence[Slice], bad: ArenaPlan) -> Callable[..., ArenaPlan]:
    """A planner that is wrong for `slices` only."""

    def planner(asked: Sequence[Slice], *, alignment: int, time_limit: float) -> ArenaPlan:
        if tuple(asked) == tuple(slices):
            return bad
        return plan(asked, alignment=alignment, time_limit=time_limit)

    return planner


def test_an_offset_on_a_live_buffer_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice in turn is planned onto one that is live with it."""
    module = "serenity_mlir.dialect_passes.stream.layout_slices"
    monkeypatch.setattr(f"{module}.check_plan", lambda *_args, **_kwargs: None)
    tried = 0
    for seed in range(10):
        program = at_execution(random_program(seed, ops=12).text)
        program.run(ALLOCATE)
        monkeypatch.setattr(f"{module}.plan", plan)
        planned = program.fork()
        plans = LayoutSlicesPass().apply(planned.module)
        assert check_layout(program.module, planned.module) == 1
        for slab in (item for item in plans if item.kind == "slab" and item.plan):
            for bad in _clobbering(slab):
                monkeypatch.setattr(f"{module}.plan", _instead_of(slab.slices, bad))
                broken = program.fork()
                LayoutSlicesPass().apply(broken.module)
                with pytest.raises(CheckFailed, match="clobbered"):
                    check_layout(program.module, broken.module)
                tried += 1
    assert tried >= 10


def _clobbering(slab: RegionPlan) -> Iterator[ArenaPlan]:
    """The plan with each slice moved onto each that it is live with, both being read later."""
    assert slab.plan is not None
    for moved, item in enumerate(slab.slices):
        for other, neighbour in enumerate(slab.slices):
            if moved != other and item.start < neighbour.end - 1 and neighbour.start < item.end - 1:
                offsets = list(slab.plan.offsets)
                offsets[moved] = offsets[other]
                yield ArenaPlan(tuple(offsets), slab.plan.size, slab.plan.lower_bound, "broken")


def test_updates_are_what_ops_change_in_place() -> None:
    changed = 0
    for seed in range(8):
        _, found = model_graph(at_execution(random_program(seed).text))
        for op, item in zip(found.ops, found.graph.ops, strict=True):
            # What these programs insert is a constant: an update touches its target alone.
            expected = set(item.touches) if op.name == "stream.async.update" else set()
            assert item.updates == expected
            changed += len(expected)
    assert changed >= 5
