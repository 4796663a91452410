"""The symbolic checks on modules of several regions and on offsets that are known at run time only."""

from __future__ import annotations

import random

import pytest
from lowering import ALLOCATE, at_execution, model_graph, order_with, ssa_preds

from serenity_mlir.dialect_passes.stream.layout_slices import LayoutSlicesPass
from serenity_mlir.dialect_passes.stream.regions import regions
from serenity_mlir.dialect_passes.stream.schedule_execution import ScheduleExecutionPass, reorder
from serenity_mlir.dialect_passes.stream.symbolic import check_layout, check_order
from serenity_mlir.errors import CheckFailed

_HEAD = """
func.func @main(%x: tensor<8x8xf32>, %s: tensor<4x8xf32>, %at: i32) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %c0 = arith.constant 0.0 : f32
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %i = arith.index_cast %at : i32 to index
"""


def _matmul(name: str, left: str, right: str) -> str:
    kind = "tensor<8x8xf32>"
    return f"  {name} = linalg.matmul ins({left}, {right} : {kind}, {kind}) outs(%z : {kind}) -> {kind}\n"


def _insert(name: str, into: str, row: str) -> str:
    place = f"{into}[{row}, 0] [4, 8] [1, 1]"
    return f"  {name} = tensor.insert_slice %s into {place} : tensor<4x8xf32> into tensor<8x8xf32>\n"


def _barrier(name: str, value: str) -> str:
    return f"  {name} = util.optimization_barrier {value} : tensor<8x8xf32>\n"


# The first region leaves two results in one allocation; the second updates one of them.
_TWO_REGIONS = (
    _HEAD
    + _matmul("%a", "%x", "%x")
    + _matmul("%b", "%a", "%x")
    + _barrier("%a1", "%a")
    + _barrier("%b1", "%b")
    + _insert("%a2", "%a1", "0")
    + _matmul("%c", "%a2", "%b1")
    + _matmul("%r", "%c", "%b1")
    + "  return %r : tensor<8x8xf32>\n}\n"
)
# %a is read, then updated in place at a row that the caller gives.
_UNKNOWN_ROW = (
    _HEAD
    + _matmul("%a", "%x", "%x")
    + _matmul("%b", "%a", "%x")
    + _insert("%c", "%a", "%i")
    + _matmul("%r", "%c", "%b")
    + "  return %r : tensor<8x8xf32>\n}\n"
)


@pytest.mark.parametrize("text", [_TWO_REGIONS, _UNKNOWN_ROW])
def test_every_region_is_compared_and_holds(text: str) -> None:
    program = at_execution(text)
    count = len(regions(program.module))
    reference = program.fork()
    ScheduleExecutionPass().apply(program.module)
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    assert check_order(reference.module, program.module) == count
    planned = program.fork()
    LayoutSlicesPass().apply(planned.module)
    assert check_layout(program.module, planned.module) == count


def test_an_update_at_an_unknown_row_before_its_reader_is_caught() -> None:
    program = at_execution(_UNKNOWN_ROW)
    reference = program.fork()
    region, found = model_graph(program)
    (update,) = [index for index, op in enumerate(found.ops) if op.name == "stream.async.update"]
    by_ssa = ssa_preds(found)
    (reader,) = [
        index
        for index in set(found.graph.preds[update]) - set(by_ssa[update])
        if found.ops[index].name == "stream.async.dispatch"
    ]
    order = order_with(by_ssa, update, reader, random.Random(0))
    assert order is not None
    reorder(region, [found.ops[index] for index in order])
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    with pytest.raises(CheckFailed, match="holds something else"):
        check_order(reference.module, program.module)
