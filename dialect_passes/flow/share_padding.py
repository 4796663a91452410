"""`serenity-share-padding`: a tensor that is padded for one reader is stored padded for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.flow.interior import interior_of, taken_from
from serenity_mlir.dialect_passes.flow.slices import is_callers, pads_constant
from serenity_mlir.dialect_passes.linalg.quantization import producer, users
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

PATTERN = "share-padding"


@dataclass(frozen=True)
class SharePaddingPass(Pass[list[str]]):
    """Lets the other readers of a tensor that is padded read the interior of the padded one.

    Otherwise the tensor and its padded copy are both stored while the others wait. Belongs after
    phase `global-optimization`, before `serenity-form-dispatch-regions`. Bit-exact.
    """

    name: ClassVar[str] = "serenity-share-padding"

    def apply(self, module: ir.Operation) -> list[str]:
        """Rewrite every place that fits; returns the keys of the sites."""
        return apply_sites(module, find)


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Pads by a constant of what others read too."""
    for op in nested_ops(module):
        if not pads_constant(op):
            continue
        made = producer(op.operands[0])
        if made is None or is_callers(made) or set(users(made)) == {op}:
            continue
        if made.block != op.block or len(made.results) != 1:
            yield Refusal(PATTERN, op, "what it pads is made elsewhere")
        elif any(user.name == "tensor.pad" for user in set(users(made)) - {op}):
            yield Refusal(PATTERN, op, "what it pads is padded in several ways")
        else:
            yield _site(op, made)


def _site(pad: ir.Operation, made: ir.Operation) -> Site:
    def apply() -> None:
        value = made.results[0]
        others = [(use.owner.operation, use.operand_number) for use in value.uses]
        pad.move_after(made)
        with ir.InsertionPoint.after(pad), pad.location:
            inside = taken_from(pad.results[0], interior_of(pad))
        for user, index in others:
            if user != pad:
                user.operands[index] = inside

    return Site(PATTERN, pad, exact=True, apply=apply)
