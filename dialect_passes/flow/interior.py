"""Boxes of tensors: the interior that a pad leaves, what is read from one and written into one."""

from __future__ import annotations

from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import ir


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a tensor, with stride 1 throughout.

    Attributes:
        offsets: Where it begins in each dimension.
        sizes: Its shape.
    """

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


def interior_of(pad: ir.Operation) -> Box:
    """Where a `tensor.pad` of constant sizes puts what it pads."""
    return Box(_numbers(pad, "static_low"), tuple(ir.RankedTensorType(pad.operands[0].type).shape))


def box_of(op: ir.Operation) -> Box | None:
    """What a `tensor.extract_slice` reads or a `tensor.insert_slice` writes.

    None where offsets or sizes are no constants, strides are not 1 or the rank changes.
    """
    tensors = 1 if op.name == "tensor.extract_slice" else 2
    part = op.results[0] if tensors == 1 else op.operands[0]
    sizes = _numbers(op, "static_sizes")
    ones = all(stride == 1 for stride in _numbers(op, "static_strides"))
    if len(op.operands) > tensors or not ones or tuple(ir.RankedTensorType(part.type).shape) != sizes:
        return None
    return Box(_numbers(op, "static_offsets"), sizes)


def taken_from(whole: ir.Value, box: Box) -> ir.Value:
    """A `tensor.extract_slice`, at the current insertion point and location."""
    kind = ir.RankedTensorType(whole.type)
    attributes = _attributes(box, [1, 0, 0, 0])
    return ir.Operation.create(
        "tensor.extract_slice",
        results=[ir.RankedTensorType.get(box.sizes, kind.element_type)],
        operands=[whole],
        attributes=attributes,
    ).results[0]


def put_into(whole: ir.Value, part: ir.Value, box: Box) -> ir.Value:
    """A `tensor.insert_slice`, at the current insertion point and location."""
    return ir.Operation.create(
        "tensor.insert_slice",
        results=[whole.type],
        operands=[part, whole],
        attributes=_attributes(box, [1, 1, 0, 0, 0]),
    ).results[0]


def _attributes(box: Box, segments: list[int]) -> dict[str, ir.Attribute]:
    return {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
        "static_offsets": ir.DenseI64ArrayAttr.get(box.offsets),
        "static_sizes": ir.DenseI64ArrayAttr.get(box.sizes),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * len(box.sizes)),
    }


def _numbers(op: ir.Operation, name: str) -> tuple[int, ...]:
    return tuple(ir.DenseI64ArrayAttr(op.attributes[name]))
