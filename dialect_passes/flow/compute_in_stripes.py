"""`serenity-compute-in-stripes`: what is large and soon read is computed a part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Annotated, ClassVar

from serenity_mlir.dialect_passes.flow.form_dispatch_regions import REGION, form
from serenity_mlir.dialect_passes.flow.hidden_offsets import hide_offsets
from serenity_mlir.dialect_passes.flow.inits import spread_in_shape
from serenity_mlir.dialect_passes.flow.interior import Box, put_into
from serenity_mlir.dialect_passes.flow.slices import Slice, in_order, reductions, whole_slice
from serenity_mlir.dialect_passes.flow.stripe_plans import (
    StripePlan,
    accumulation_plan,
    cascade_plan,
    stripe_plan,
)
from serenity_mlir.dialect_passes.flow.stripes import Striper, iterated
from serenity_mlir.dialect_passes.linalg.quantization import producer, users
from serenity_mlir.dialect_passes.linalg.rewrite import Site, apply_sites
from serenity_mlir.dialect_passes.linalg.slicing import Part
from serenity_mlir.dialect_passes.linalg.structured import structured
from serenity_mlir.dialect_passes.linalg.tensor_ops import empty
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

Planner = Callable[[Slice], StripePlan | None]

PLANNERS: dict[str, Planner] = {
    "accumulate": accumulation_plan,
    "cascade": cascade_plan,
    "stripe": stripe_plan,
}
"""By pattern; where several are chosen for one reduction, the first that still fits is applied."""

FEW, MANY = 3, 8
"""Stripes of a result where time counts, and where memory does."""

QUEUED = 4500.0
"""Multiply-accumulates that take as long as one more dispatch of IREE's runtime."""


@dataclass(frozen=True)
class ComputeInStripesPass(Pass[list[str]]):
    """Computes reductions a part of their results at a time, each part in dispatches of its own.

    Then a padded copy is never there as a whole, nor is what one reduction makes for another; a result
    takes the place of an operand that is read for the last time, where each of its parts depends on the
    same part alone. No sum is computed twice. Belongs right after phase `global-optimization`, before
    `serenity-form-dispatch-regions`. Integers stay bit-exact; floats may be summed in another order.
    """

    name: ClassVar[str] = "serenity-compute-in-stripes"
    stripes: Annotated[int, "parts of a result, about as many"] = FEW

    def apply(self, module: ir.Operation) -> list[str]:
        """Rewrite every place that fits; returns the keys of the sites."""
        return apply_sites(module, partial(find, stripes=self.stripes))


def find(module: ir.Operation, *, stripes: int = FEW, dispatch: float = QUEUED) -> Iterator[Site]:
    """Reductions that can be computed in stripes, the last one first: it takes those that feed it along.

    Args:
        module: Where to look.
        stripes: Parts of a result, about as many.
        dispatch: Multiply-accumulates that take as long as one more dispatch.
    """
    gone: set[ir.Value] = set()  # results: of an op that was erased nothing can be asked
    for root in reversed(list(reductions(module))):
        found = whole_slice(root)
        if found is None:
            continue
        plans = {pattern: planner(found) for pattern, planner in PLANNERS.items()}
        alone = plans["stripe"]
        if alone is not None and alone.over is not None:
            plans["cascade"] = None  # what feeds it would be stored where its own result is
        for pattern, plan in plans.items():
            if plan is None:
                continue
            exact = all(_of_integers(item.root) for item in plan.slices)
            apply = partial(_apply, root.results[0], PLANNERS[pattern], stripes, gone)
            along = tuple(item.root for item in plan.slices[1:])
            yield Site(pattern, root, exact, apply, dispatch * _dispatches(plan, stripes), along)


def _of_integers(op: ir.Operation) -> bool:
    return isinstance(ir.RankedTensorType(op.results[0].type).element_type, ir.IntegerType)


def _dispatches(plan: StripePlan, stripes: int) -> int:
    """How many more there are than without: of padding two, of a copy into the whole one."""
    pads = sum(1 for op in plan.ops if op.name == "tensor.pad")
    once = len(plan.slices) + 2 * pads
    copies = 1 if plan.dim and plan.over is not None and not plan.halo else 0
    return len(plan.parts(stripes)) * (once + copies) - once


def _apply(result: ir.Value, planner: Planner, stripes: int, gone: set[ir.Value]) -> None:
    root = None if result in gone else producer(result)
    plan = None if root is None else _planned(root, planner)
    for item in () if plan is None else plan.slices:
        spread_in_shape(item.root)
    plan = None if root is None or plan is None else _planned(root, planner)
    if root is None or plan is None:
        return
    gone |= {item.root.results[0] for item in plan.slices}
    end = plan.slices[0].last if plan.loop is None else root
    order = in_order(plan.ops)
    with end.location:
        whole = _in_parts(plan, stripes) if plan.loop is None else _summed(plan, stripes)
        end.results[0].replace_all_uses_with(whole)
        if plan.loop is not None:
            _form(whole.owner.operation)
    for op in reversed(order):
        if not users(op):
            op.erase()


def _planned(root: ir.Operation, planner: Planner) -> StripePlan | None:
    found = whole_slice(root)
    return None if found is None else planner(found)


def _in_parts(plan: StripePlan, stripes: int) -> ir.Value:
    """The last result, put together part by part."""
    last = plan.slices[0].last
    kind = ir.RankedTensorType(last.results[0].type)
    parts = plan.parts(stripes)
    over = plan.over if plan.halo <= parts[0].size else None
    with ir.InsertionPoint(last):
        whole = empty(kind) if over is None else over
    scattered = any(size > 1 for size in kind.shape[: plan.dim])
    stripers: dict[Part, Striper] = {}
    for part, following in zip_longest(parts, parts[1:]):
        for one in (part, *([following] if plan.halo and following else [])):
            if one not in stripers:  # a part after this one reads what this one overwrites
                stripers[one] = Striper(plan.ops, last, {} if over is None else {over: whole})
                stripers[one].pad(last.results[0], one)
        value = stripers[part].part_of(last.results[0], part)
        with ir.InsertionPoint(last):
            whole = put_into(whole, value, _box(kind, part))
        _dispatch(stripers[part], plan)
        if scattered and (over is None or plan.halo):
            whole = _stored_into(whole.owner.operation)
    return whole


def _stored_into(insert: ir.Operation) -> ir.Value:
    """Let a dispatch region store its result where it is inserted, which is no one piece of memory.

    A result that starts from what another dispatch made stays apart: IREE would copy it without workgroups.
    """
    region = producer(insert.operands[0])
    if region is None or region.name != REGION:
        raise ValueError(f"is no dispatch region's: {insert}")
    block = region.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1].operation
    part, whole = end.operands[0], insert.operands[1]
    made = part.owner.operation
    start = producer(made.operands[len(made.operands) - 1])
    if start is None or start.block != block or start.name == "tensor.extract_slice":
        return insert.results[0]
    insert.move_before(end)
    insert.operands[0] = part
    end.operands[0] = insert.results[0]
    region.results[0].set_type(whole.type)
    insert.results[0].replace_all_uses_with(region.results[0])
    end.operands[0] = insert.results[0]
    hide_offsets(insert, region)
    return region.results[0]


def _summed(plan: StripePlan, stripes: int) -> ir.Value:
    """The last reduction, each part of its loop added to the sum of those before it."""
    root = plan.slices[0].root
    item = structured(root)
    if item is None or plan.loop is None:
        raise ValueError(f"sums up nothing: {root.name}")
    total = root.operands[len(root.operands) - 1]
    parts = plan.parts(stripes)
    for part in parts:
        striper = Striper(plan.ops, root)
        total = striper.on_parts(item, iterated(item, plan.loop, part), total)
        _dispatch(striper, plan)
        if part is not parts[-1]:
            total = _form(total.owner.operation)
    return total


def _dispatch(striper: Striper, plan: StripePlan) -> None:
    """Give each reduction of a stripe its dispatch region; what feeds another comes first."""
    for pad in (op for op in plan.ops if op.name == "tensor.pad"):
        for copy in striper.copies(pad):
            taken = producer(copy.operands[0])
            if taken is not None and taken.name == "tensor.extract_slice":
                hide_offsets(taken, taken)
    for item in reversed(plan.slices):
        for root in striper.copies(item.root):
            _form(root)


def _form(root: ir.Operation) -> ir.Value:
    found = whole_slice(root)
    if found is None:
        raise ValueError(f"is no reduction: {root.name}")
    region = form(found)
    for op in list(nested_ops(region)):
        if op.name == "tensor.extract_slice":
            hide_offsets(op, region)
    return region.results[0]


def _box(kind: ir.RankedTensorType, part: Part) -> Box:
    return Box(
        tuple(part.offset if dim == part.dim else 0 for dim in range(kind.rank)),
        tuple(part.size if dim == part.dim else size for dim, size in enumerate(kind.shape)),
    )
