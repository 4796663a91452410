"""`serenity-narrow-max-pool`: the greatest of dequantised values is the dequantised greatest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.linalg.quantization import (
    Scheme,
    constant_float,
    dequantize,
    dequantized,
    narrow_type,
    producer,
    replace_op,
)
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.linalg.tensor_ops import (
    compute,
    constant,
    empty,
    fill,
    generic,
    pad,
    padding,
)
from serenity_mlir.dialect_passes.mlir import indexing_maps, ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

PATTERN = "narrow-max-pool"
_LAYOUTS = {f"linalg.pooling_{layout}_max": layout for layout in ("ncw", "nwc", "nchw", "nhwc", "ndhwc")}


@dataclass(frozen=True)
class NarrowMaxPoolPass(Pass[list[str]]):
    """Takes the maximum of quantised tensors on their integers, dequantised afterwards.

    Bit-exact where a greater integer stands for a greater value. A padding by minus infinity
    or the least float becomes the least integer, where every window has an element of its own.
    """

    name: ClassVar[str] = "serenity-narrow-max-pool"

    def apply(self, module: ir.Operation) -> list[str]:
        """Rewrite every place that fits; returns the keys of the sites."""
        return apply_sites(module, find)


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Max pools of dequantised tensors."""
    for op in nested_ops(module):
        if op.name not in _LAYOUTS or (source := dequantized(_unpadded(op.operands[0]))) is None:
            continue
        reason = _why_not(op, source[1])
        yield Refusal(PATTERN, op, reason) if reason else _site(op)


def _site(op: ir.Operation) -> Site:
    return Site(PATTERN, op, exact=True, apply=lambda: _narrow(op))


def _unpadded(value: ir.Value) -> ir.Value:
    """What was padded, or the value itself."""
    op = producer(value)
    return op.operands[0] if op is not None and op.name == "tensor.pad" else value


def _never_greater(value: ir.Value, scheme: Scheme) -> bool:
    """Whether a constant is at most what the least integer stands for."""
    number = constant_float(value)
    return number is not None and number <= scheme.dequantized(scheme.levels[:1])[0]


def _why_not(op: ir.Operation, scheme: Scheme) -> str | None:
    initial = producer(op.operands[2])
    if not scheme.increasing:
        return "two integers of the scale stand for one value"
    if initial is None or initial.name != "linalg.fill" or not _never_greater(initial.operands[0], scheme):
        return "starts with more than the least value"
    around = producer(op.operands[0])
    if around is not None and around.name == "tensor.pad" and not _never_greater(padding(around), scheme):
        return "is padded with more than the least value"
    if not all(ir.ShapedType(value.type).has_static_shape for value in (*op.operands, *op.results)):
        return "has dynamic sizes"
    if not _every_window_has_an_element(op):
        return "a window lies in the padding altogether"
    return None


def _every_window_has_an_element(op: ir.Operation) -> bool:
    padded = producer(op.operands[0])
    if padded is None or padded.name != "tensor.pad":
        return True
    lows = list(ir.DenseI64ArrayAttr(padded.attributes["static_low"]))
    sizes = ir.ShapedType(padded.operands[0].type).shape
    outputs = ir.ShapedType(op.results[0].type).shape
    window = ir.ShapedType(op.operands[1].type).shape
    strides, dilations = ([int(item) for item in op.attributes[key]] for key in ("strides", "dilations"))
    spatial = [dim for dim, letter in enumerate(_LAYOUTS[str(op.name)]) if letter in "dhw"]
    others = [dim for dim in range(len(sizes)) if dim not in spatial]
    return all(
        any(low <= start * stride + tap * dilation < low + size for tap in range(taps))
        for dim, taps, stride, dilation in zip(spatial, window, strides, dilations, strict=True)
        for low, size in [(lows[dim], sizes[dim])]
        for start in range(outputs[dim])
    ) and all(sizes[dim] == outputs[dim] for dim in others)


def _narrow(op: ir.Operation) -> None:
    source = dequantized(_unpadded(op.operands[0]))
    maps = indexing_maps(op)
    if source is None or maps is None:
        raise ValueError(f"no site: {op.name}")
    integers, scheme = source
    with ir.InsertionPoint(op), op.location:
        result = narrow_type(op.results[0].type, scheme)
        least = ir.IntegerAttr.get(result.element_type, scheme.stored(int(scheme.levels[0])))
        around = producer(op.operands[0])
        if around is not None and around.name == "tensor.pad":
            integers = pad(around, integers, least)
        start = fill(constant(least), empty(result))
        greatest = generic(maps, [integers, op.operands[1]], start)
        with ir.InsertionPoint(greatest.regions[0].blocks[0]):
            element, _, so_far = greatest.regions[0].blocks[0].arguments
            name = "arith.maxui" if scheme.unsigned else "arith.maxsi"
            greater = compute(name, result.element_type, so_far, element)
            ir.Operation.create("linalg.yield", operands=[greater])
        wide = dequantize(greatest.results[0], scheme)
    replace_op(op, [wide])
