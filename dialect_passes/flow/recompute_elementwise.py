"""`serenity-recompute-elementwise`: reductions compute again what they read, where that is cheap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.flow.form_dispatch_regions import form
from serenity_mlir.dialect_passes.flow.slices import (
    is_callers,
    is_elementwise,
    read_by,
    reduces,
    slice_with,
    stored,
)
from serenity_mlir.dialect_passes.linalg.quantization import producer, users
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import is_constant, nested_ops
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

PATTERN = "recompute-elementwise"


@dataclass(frozen=True)
class RecomputeElementwisePass(Pass[list[str]]):
    """Computes an element-wise op again in the dispatch of each reduction that reads it.

    An activation of an input, or of a tensor that others read as it was, is stored beside it by
    IREE: the same bytes once more. Belongs after phase `global-optimization`, before
    `serenity-form-dispatch-regions`. Integers stay bit-exact; floats may be summed in another order.
    """

    name: ClassVar[str] = "serenity-recompute-elementwise"

    def apply(self, module: ir.Operation) -> list[str]:
        """Rewrite every place that fits; returns the keys of the sites."""
        return apply_sites(module, find)


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Element-wise ops of what is stored anyway, with a site where reductions read them."""
    for op in nested_ops(module):
        if not is_elementwise(op) or not any(map(reduces, users(op))) or not _of_stored(op):
            continue
        reason = _why_not(op)
        yield _site(op) if reason is None else Refusal(PATTERN, op, reason)


def _site(op: ir.Operation) -> Site:
    def apply() -> None:
        for user in dict.fromkeys(users(op)):
            if reduces(user):
                form(slice_with(user, op))

    exact = all(_of_integers(user) for user in users(op) if reduces(user))
    return Site(PATTERN, op, exact, apply)


def _of_stored(op: ir.Operation) -> bool:
    """Whether what an op reads is stored all the same: the caller's, or read by others too."""
    read = [value for value in list(op.operands)[:-1] if isinstance(value.type, ir.RankedTensorType)]
    made = [(value, producer(value)) for value in read]
    varying = [(value, item) for value, item in made if item is None or not is_constant(item)]
    return bool(varying) and all(
        item is None or is_callers(item) or len(set(users(item))) > 1 for _, item in varying
    )


def _why_not(op: ir.Operation) -> str | None:
    found = set(users(op))
    others = [user for user in found if not reduces(user)]
    if any(user.block != op.block for user in found):
        return "is read elsewhere"
    if len(others) > 1 or not all(map(is_elementwise, others)):
        return "is read by what is no reduction"
    if any(op.results[0] == user.operands[len(user.operands) - 1] for user in found if reduces(user)):
        return "a reduction starts from it"
    if read_by(op) > stored(op):
        return "it reads more than it makes"
    sizes = (tensor_bytes(value.type) for user in found for value in (*user.operands, *user.results))
    return "is read by what has sizes that are no constants" if None in sizes else None


def _of_integers(op: ir.Operation) -> bool:
    return isinstance(ir.RankedTensorType(op.results[0].type).element_type, ir.IntegerType)
