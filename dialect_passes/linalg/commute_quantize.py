"""`serenity-commute-quantize`: data is moved in the type that it is stored in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from serenity_mlir.dialect_passes.linalg.quantization import (
    QUANTIZE,
    Scheme,
    constant_float,
    dequantize,
    dequantized,
    is_static_f32,
    narrow_type,
    quantize,
    replace_op,
    scheme_of,
    users,
)
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.linalg.tensor_ops import empty, moving, pad, padding
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

PATTERN = "commute-quantize"
_PAD = "tensor.pad"
# Tensor operands of ops that put elements elsewhere and change none. The rest are sizes and inits.
_MOVED = {
    "linalg.broadcast": 1,
    "linalg.transpose": 1,
    "tensor.collapse_shape": 1,
    "tensor.concat": None,
    "tensor.expand_shape": 1,
    "tensor.extract_slice": 1,
    "tensor.insert_slice": 2,
    _PAD: 1,
}
_WITH_INIT = frozenset({"linalg.broadcast", "linalg.transpose"})


@dataclass(frozen=True)
class CommuteQuantizePass(Pass[list[str]]):
    """Moves quantisation above and dequantisation below ops that only move data.

    A concat, pad, transpose, reshape or slice of dequantised tensors becomes that op on the
    integers, dequantised afterwards; one whose result is only ever quantised moves what was
    quantised before. Quantising what the same scale dequantised is dropped. Bit-exact: every
    element goes through the same arithmetic.
    """

    name: ClassVar[str] = "serenity-commute-quantize"

    def apply(self, module: ir.Operation) -> list[str]:
        """Rewrite until nothing fits; returns the keys of the sites in the order they were taken."""
        taken: list[str] = []
        while found := apply_sites(module, find):
            taken += found
        return taken


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Places where data moves as f32 that is stored, or will be, as integers.

    Sites are of the module as it is: applying them opens further ones above and below.
    """
    for op in nested_ops(module):
        if not users(op):
            continue
        if op.name == QUANTIZE:
            yield from _round_trip(op)
        elif op.name in _MOVED and is_static_f32(op.results[0]):
            yield from _movement(op)


def _round_trip(op: ir.Operation) -> Iterator[Site]:
    source = dequantized(op.operands[0])
    if source is None:
        return
    value, scheme = source
    if scheme == scheme_of(op) and scheme.round_trips and value.type == op.results[0].type:
        yield Site(PATTERN, op, exact=True, apply=lambda: _drop(op))


def _drop(op: ir.Operation) -> None:
    dequantisation = op.operands[0].owner.operation  # another site may have changed what that reads
    replace_op(op, [dequantisation.operands[0]])


def _movement(op: ir.Operation) -> Iterator[Site | Refusal]:
    moved = _moved(op)
    sources = [dequantized(value) for value in moved]
    quantisations = [scheme_of(user) if user.name == QUANTIZE else None for user in users(op)]
    if not any(sources) and not any(quantisations):
        return
    reason = _why_not_dequantise_after(op, sources)
    if reason is None:
        yield Site(PATTERN, op, exact=True, apply=lambda: _dequantise_after(op))
        return
    if len(set(quantisations)) == 1 and (scheme := quantisations[0]):
        reason = _why_not_quantise_before(op, moved)
        if reason is None:
            yield Site(PATTERN, op, exact=True, apply=lambda: _quantise_before(op, scheme))
            return
    yield Refusal(PATTERN, op, reason)


def _why_not_dequantise_after(op: ir.Operation, sources: list[tuple[ir.Value, Scheme] | None]) -> str | None:
    """Why its operands' dequantisation cannot follow the op; None where it can."""
    schemes = {source[1] for source in sources if source}
    if len(schemes) > 1:
        return "its operands have different scales and its result is used as f32"
    if not all(sources):
        return "an operand is f32 and so is a use of the result"
    (scheme,) = schemes
    if op.name == _PAD:
        value = _padding(op)
        if value is None:
            return "pads with a value that is no constant"
        if scheme.level_of(value) is None:
            return f"pads with {value:g}, which no integer of the scale stands for"
    return None


def _why_not_quantise_before(op: ir.Operation, moved: list[ir.Value]) -> str | None:
    """Why the result's quantisation cannot go before the op; None where it can."""
    if not all(is_static_f32(value) for value in moved):
        return "an operand has dynamic sizes"
    if op.name == _PAD and ((value := _padding(op)) is None or math.isnan(value)):
        return "pads with a value that is no constant"
    return None


def _padding(op: ir.Operation) -> float | None:
    return constant_float(padding(op))


def _dequantise_after(op: ir.Operation) -> None:
    sources = [source for value in _moved(op) if (source := dequantized(value))]
    integers, scheme = [value for value, _ in sources], sources[0][1]
    with ir.InsertionPoint(op), op.location:
        level = scheme.level_of(_padding(op) or 0.0) if op.name == _PAD else None
        wide = dequantize(_on_integers(op, scheme, integers, level), scheme)
    replace_op(op, [wide])


def _quantise_before(op: ir.Operation, scheme: Scheme) -> None:
    with ir.InsertionPoint(op), op.location:
        integers = [quantize(value, scheme) for value in _moved(op)]
        level = None
        if op.name == _PAD:
            level = int(scheme.quantized(np.array([_padding(op)], np.float32))[0])
        narrow = _on_integers(op, scheme, integers, level)
    for user in users(op):
        replace_op(user, [narrow])


def _moved(op: ir.Operation) -> list[ir.Value]:
    return list(op.operands)[: _MOVED[str(op.name)]]


def _on_integers(op: ir.Operation, scheme: Scheme, integers: list[ir.Value], level: int | None) -> ir.Value:
    """The op on a scheme's integers, at the current insertion point; `level` is what a pad writes."""
    result = narrow_type(op.results[0].type, scheme)
    rest = list(op.operands)[len(integers) :]
    attributes = {key: op.attributes[key] for key in op.attributes}
    if level is not None:
        return pad(op, integers[0], ir.IntegerAttr.get(result.element_type, scheme.stored(level)))
    if op.name in _WITH_INIT:
        return moving(str(op.name), [*integers, empty(result)], attributes)
    operands = [*integers, *rest]
    return ir.Operation.create(
        str(op.name), results=[result], operands=operands, attributes=attributes
    ).results[0]
