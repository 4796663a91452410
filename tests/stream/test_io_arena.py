"""Inputs and outputs in the one arena: their lifetimes against those that IREE's lowered ops show."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from lowering import ALLOCATE, at_execution, model_graph
from programs import random_program

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.layout_slices import packs, slices_of
from serenity_mlir.dialect_passes.stream.regions import regions
from serenity_mlir.dialect_passes.stream.schedule_execution import ScheduleExecutionPass
from serenity_mlir.dialect_passes.stream.whole_arena import Timeline, plan_whole, timeline
from serenity_mlir.liveness import Slice
from serenity_mlir.pipelines.io_arena import whole_footprint
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.schedulers import schedule


def scheduled(text: str, *, keep_order: bool = False) -> tuple[Program, Timeline]:
    program = at_execution(text)
    schedules = ScheduleExecutionPass(io="arena", keep_order=keep_order).apply(program.module)
    found = timeline([item for item in schedules if item.role == "model"])
    assert found is not None
    program.run(ALLOCATE)
    return program, found


def lowered_lifetimes(program: Program) -> Iterator[tuple[str, Slice]]:
    """Name and live range of each input and output, by the ops of `stream.cmd.execute` alone."""
    (region,) = [item for item in regions(program.module, "stream.cmd.execute") if item.role == "model"]
    body = region.op.regions[0].blocks[0]
    ops = [op.operation for op in body.operations if op.operation.name.startswith("stream.cmd.")]
    given = [value for value in region.op.operands if str(value.type).startswith("!stream.resource")]
    exported: dict[ir.Value, ir.Value] = {}
    for op in region.op.block.operations:
        if op.operation.name == "stream.timepoint.await":
            exported |= dict(zip(op.operation.results, list(op.operation.operands), strict=False))
    returned: dict[ir.Value, int] = {}
    *_, last = region.op.block.operations
    for number, value in enumerate(last.operation.operands):
        given_out = value.owner.operation.operands[0]
        returned[exported.get(given_out, given_out)] = number
    for argument, value in zip(body.arguments, given, strict=True):
        steps = [step for step, op in enumerate(ops) if argument in list(op.operands)]
        made_by = None if isinstance(value.owner, ir.Block) else value.owner.operation
        is_input = made_by is not None and made_by.name == "stream.tensor.import"
        if is_input or value in returned:
            start = 0 if is_input else min(steps)
            end = len(ops) if value in returned else max(steps) + 1
            taken = ir.BlockArgument(made_by.operands[0]).arg_number if made_by and is_input else None
            name = f"output {returned[value]}" if taken is None else f"input {taken}"
            yield name, Slice(start, end, 512 if taken == 2 else 1024)


@pytest.mark.parametrize("seed", range(16))
def test_lifetimes_are_those_of_the_lowered_ops(seed: int) -> None:
    program, found = scheduled(random_program(seed).text)
    expected = dict(lowered_lifetimes(program))
    assert {name: found.slices[index] for name, index in found.held.items() if name in expected} == expected
    assert len(expected) >= 3
    (own,) = found.own
    listed = [
        s for pack in packs(program.module) if pack.kind == "slab" for s in slices_of(pack.op, 64) or []
    ]
    assert found.own_slices(own).total() == len(listed)
    assert set(found.own_slices(own)) == set(listed)


@pytest.mark.parametrize("seed", range(8))
def test_the_order_is_optimal_for_the_whole_arena(seed: int) -> None:
    text = random_program(seed, ops=7).text
    _, found = scheduled(text)
    _, in_file_order = scheduled(text, keep_order=True)
    assert found.peak <= in_file_order.peak
    region, own_graph = model_graph(at_execution(text))
    assert region
    # What is packed without them needs no more, and with them on top no less.
    alone = schedule(own_graph.graph).peak
    sizes = sum(found.slices[index].size for index in found.held.values())
    assert alone <= found.peak <= alone + sizes
    arena = plan_whole(found, alignment=64, time_limit=10)
    assert arena.plan.size >= found.peak
    rng = random.Random(seed)
    order = list(range(len(found.slices)))
    rng.shuffle(order)
    for one in order:
        for two in order:
            if one < two and _meet(found.slices[one], found.slices[two]):
                low, high = arena.plan.offsets[one], arena.plan.offsets[two]
                assert low + found.slices[one].size <= high or high + found.slices[two].size <= low


def _meet(one: Slice, two: Slice) -> bool:
    return one.start < two.end and two.start < one.end and min(one.size, two.size) > 0


def test_an_input_makes_room_after_its_last_use() -> None:
    """Of three equal tensors in a chain two are live at once, the input among them."""
    tensor = "tensor<64x64xf32>"
    text = f"""
    func.func @main(%x: {tensor}, %w: {tensor}) -> {tensor} {{
      %e = tensor.empty() : {tensor}
      %c0 = arith.constant 0.0 : f32
      %z = linalg.fill ins(%c0 : f32) outs(%e : {tensor}) -> {tensor}
      %a = linalg.matmul ins(%x, %w : {tensor}, {tensor}) outs(%z : {tensor}) -> {tensor}
      %b = linalg.matmul ins(%a, %w : {tensor}, {tensor}) outs(%z : {tensor}) -> {tensor}
      %c = linalg.matmul ins(%b, %w : {tensor}, {tensor}) outs(%z : {tensor}) -> {tensor}
      return %c : {tensor}
    }}
    """
    program, found = scheduled(text)
    assert found.peak == 3 * 64 * 64 * 4  # x, w and a; then a, w and b in the place of x
    assert plan_whole(found, alignment=64, time_limit=5).plan.size == found.peak
    assert program


def test_a_state_has_no_place_in_the_arena() -> None:
    text = """
    util.global private mutable @state = dense<0.0> : tensor<16xf32>
    func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
      %s = util.global.load @state : tensor<16xf32>
      %n = arith.maximumf %s, %x : tensor<16xf32>
      util.global.store %n, @state : tensor<16xf32>
      return %n : tensor<16xf32>
    }
    """
    program = at_execution(text)
    schedules = ScheduleExecutionPass(io="arena").apply(program.module)
    assert all(item.held is None for item in schedules)
    program.run(ALLOCATE)
    assert whole_footprint(schedules, program.module, alignment=0, time_limit=1) is None
