"""`serenity-form-dispatch-regions`: a dispatch ends where what it stores is narrowest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.flow.inits import spread_in_shape
from serenity_mlir.dialect_passes.flow.interior import interior_of, put_into
from serenity_mlir.dialect_passes.flow.slices import Slice, reductions, slice_of
from serenity_mlir.dialect_passes.linalg.quantization import producer, users
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.linalg.tensor_ops import constant, copy_into, empty, fill, padding
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass

PATTERN = "form-dispatch-region"
REGION = "flow.dispatch.region"


@dataclass(frozen=True)
class FormDispatchRegionsPass(Pass[list[str]]):
    """Puts each reduction and what narrows its result into one dispatch.

    IREE's own fusion hands element-wise work to the last op that it can, and then stores the
    int32 accumulators of the others. Belongs right after phase `global-optimization`: regions
    that are there already when dispatches are created are kept. Fills, broadcasts and dequantised
    tensors are computed again in each region that reads them; what only a pad reads is stored in the
    interior of the padded tensor. Bit-exact.
    """

    name: ClassVar[str] = "serenity-form-dispatch-regions"

    def apply(self, module: ir.Operation) -> list[str]:
        """Form every region that stores less than its reduction gives; returns the keys of the sites."""
        return apply_sites(module, find)


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Reductions, with a site where something after them stores less.

    What joins two of them goes to the later one, after which nothing has to wait. It goes to the
    earlier where only that one is applied.
    """
    for root in reversed(list(reductions(module))):
        found = slice_of(root)
        yield Refusal(PATTERN, root, found) if isinstance(found, str) else _site(root)


def _site(root: ir.Operation) -> Site:
    def apply() -> None:
        spread_in_shape(root)
        whole = slice_of(root)
        if isinstance(whole, Slice):
            form(whole)

    return Site(PATTERN, root, exact=True, apply=apply)


def form(whole: Slice) -> ir.Operation:
    """Move a slice into a `flow.dispatch.region`, which stands where its last op stood."""
    last, pad = whole.last, whole.into
    with ir.InsertionPoint(last), last.location:
        around = None if pad is None else _filled(pad)
        region = ir.Operation.create(
            REGION,
            results=[last.results[0].type if around is None else around.type],
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])},
            regions=2,
        )
        block = region.regions[0].blocks.append()
        now: dict[ir.Value, ir.Value] = {}
        for op in whole.ops:
            copy_into(block, op, now)
        with ir.InsertionPoint(block):
            result = now[last.results[0]]
            if pad is not None and around is not None:
                result = put_into(around, result, interior_of(pad))
            ir.Operation.create("flow.return", operands=[result])
    replaced = last if pad is None else pad
    replaced.results[0].replace_all_uses_with(region.results[0])
    for op in (*([pad] if pad else []), *reversed(whole.ops)):
        if not users(op):
            op.erase()
    return region


def _filled(pad: ir.Operation) -> ir.Value:
    """A tensor of a pad's size that holds its constant everywhere."""
    written = producer(padding(pad))
    if written is None:
        raise ValueError("pads with no constant")
    return fill(constant(written.attributes["value"]), empty(ir.RankedTensorType(pad.results[0].type)))
