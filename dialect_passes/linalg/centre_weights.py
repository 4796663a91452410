"""`serenity-centre-weights`: quantised weights whose zero is 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from serenity_mlir.dialect_passes.linalg.quantization import (
    DEQUANTIZE,
    Scheme,
    dequantize,
    dequantized,
    producer,
    replace_op,
)
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.linalg.tensor_ops import constant
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

PATTERN = "centre-weights"


@dataclass(frozen=True)
class CentreWeightsPass(Pass[list[str]]):
    """Takes the zero point off constant weights, where what is left fits their storage signed.

    A weight zero point costs a sum over every window of the activation, which IREE stores as
    int32: for a depthwise convolution four bytes an element. Bit-exact: (q - zero) is the same
    integer.
    """

    name: ClassVar[str] = "serenity-centre-weights"

    def apply(self, module: ir.Operation) -> list[str]:
        """Rewrite every place that fits; returns the keys of the sites."""
        return apply_sites(module, find)


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Constants that are dequantised with a zero point."""
    for op in nested_ops(module):
        if op.name != DEQUANTIZE or (source := dequantized(op.results[0])) is None:
            continue
        value, scheme = source
        holder = producer(value)
        if not scheme.zero or holder is None or holder.name != "arith.constant":
            continue
        yield _site_or_refusal(op, holder.attributes["value"], scheme)


def _site_or_refusal(op: ir.Operation, held: ir.Attribute, scheme: Scheme) -> Site | Refusal:
    if not isinstance(held, ir.DenseIntElementsAttr):
        return Refusal(PATTERN, op, "the weights are not in the module's text")
    if scheme.bits not in (8, 16):
        return Refusal(PATTERN, op, f"weights of {scheme.bits} bits are packed")
    kind = np.dtype(f"{'u' if scheme.unsigned else ''}int{scheme.bits}")
    # The attribute may give bits of either sign, and one element for all where they are equal.
    centred = np.array(held).astype(kind).astype(np.int64) - scheme.zero
    centred = np.broadcast_to(centred, ir.ShapedType(held.type).shape)
    limit = 1 << (scheme.bits - 1)
    if centred.size and not (-limit <= centred.min() and centred.max() < limit):
        return Refusal(PATTERN, op, "without their zero point the weights do not fit their storage")

    def apply() -> None:
        signed = replace(scheme, zero=0, low=-limit, high=limit - 1, unsigned=False)
        data = np.ascontiguousarray(centred.astype(f"int{scheme.bits}"))
        with ir.InsertionPoint(op), op.location:
            weights = constant(ir.DenseElementsAttr.get(data, type=held.type))
            replace_op(op, [dequantize(weights, signed)])

    return Site(PATTERN, op, exact=True, apply=apply)
