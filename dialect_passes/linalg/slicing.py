"""A slice of a value along one dimension, made of slices of what the value is made of.

`tensor.extract_slice` is always right and is what is left where nothing better is known. Weights
take it: IREE evaluates slices of constants when it compiles. Ops of shape and of placement
(empty tensors, fills, broadcast biases, padding, reshapes, concatenations) are built anew on
slices, so that no whole is ever made for its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from serenity_mlir.dialect_passes.linalg.quantization import producer
from serenity_mlir.dialect_passes.linalg.structured import Structured, on_operands, structured
from serenity_mlir.dialect_passes.mlir import ir

CONCAT = "tensor.concat"
_EXPAND, _COLLAPSE, _PAD = "tensor.expand_shape", "tensor.collapse_shape", "tensor.pad"
CARRIERS = frozenset({_EXPAND, _COLLAPSE, _PAD})
"""Ops of one source whose slices are the same op on slices of the source."""

# How many ops deep a slice is looked for before it is taken of what is there.
_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Part:
    """`size` elements along dimension `dim` of a tensor, from `offset` on, and all along the others."""

    dim: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Source:
    """The dimension of an op's source that a dimension of its result comes from.

    `up` elements along the source's are `down` elements along the result's; one of the two is 1.
    """

    dim: int
    up: int = 1
    down: int = 1


def extent(value: ir.Value, dim: int) -> int | None:
    """Elements along a dimension of a tensor; None where that is no constant."""
    type_ = ir.RankedTensorType(value.type)
    return None if type_.is_dynamic_dim(dim) else int(type_.shape[dim])


def concat_dim(op: ir.Operation) -> int:
    """The dimension that a `tensor.concat` joins its operands along."""
    return int(ir.IntegerAttr(op.attributes["dim"]).value)


def source_dim(op: ir.Operation, dim: int) -> Source | str:
    """Where the elements along `dim` of the result of one of CARRIERS come from, or why that is no slice."""
    if op.name == _PAD:
        return _padded(op, dim)
    return _expanded(op, dim) if op.name == _EXPAND else _collapsed(op, dim)


def _padded(op: ir.Operation, dim: int) -> Source | str:
    if op.attributes["static_low"][dim] or op.attributes["static_high"][dim]:
        return f"padding lies along the concatenation, dimension {dim}"
    if any(next(iter(argument.uses), None) is not None for argument in op.regions[0].blocks[0].arguments):
        return "what pads the concatenation depends on the position"
    return Source(dim)


def _expanded(op: ir.Operation, dim: int) -> Source | str:
    result = ir.RankedTensorType(op.results[0].type)
    outer, group = next((outer, group) for outer, group in enumerate(groups(op)) if dim in group)
    inner = _leading(result, group)
    if inner is None or inner[0] != dim or extent(op.operands[0], outer) is None:
        return f"a reshape makes several dimensions of that of the concatenation, and {dim} is an inner one"
    return Source(outer, up=inner[1])


def _collapsed(op: ir.Operation, dim: int) -> Source | str:
    inner = _leading(ir.RankedTensorType(op.operands[0].type), groups(op)[dim])
    if inner is None:
        return "a reshape folds dimensions of no constant size"
    return Source(inner[0], down=inner[1])


def groups(op: ir.Operation) -> list[list[int]]:
    """For each dimension of the lower rank of a reshape, those of the higher rank that it stands for."""
    return [[ir.IntegerAttr(dim).value for dim in group] for group in op.attributes["reassociation"]]


def _leading(unfolded: ir.RankedTensorType, group: Sequence[int]) -> tuple[int, int] | None:
    """The outermost dimension of a group with more than one element, and how many each of those holds."""
    if any(unfolded.is_dynamic_dim(dim) for dim in group):
        return (group[0], 1) if len(group) == 1 else None
    sizes = [unfolded.get_dim_size(dim) for dim in group]
    at = next((index for index, size in enumerate(sizes) if size != 1), 0)
    return group[at], prod(sizes[at + 1 :])


def slice_value(value: ir.Value, part: Part, before: ir.Operation, *, depth: int = 0) -> ir.Value:
    """A part of a value, whose size along `part.dim` is a constant; what that takes is put before `before`.

    `depth` counts the ops computed anew on the way here.
    """
    if part.size == extent(value, part.dim):
        return value
    op = producer(value)
    return (None if op is None else _of_slices(op, part, before, depth)) or _extract(value, part, before)


def _of_slices(op: ir.Operation, part: Part, before: ir.Operation, depth: int) -> ir.Value | None:
    if op.name == "tensor.empty":
        return created(op.name, resized(op.results[0].type, part), list(op.operands), {}, before)
    if op.name == "arith.constant":
        return _splat(op, part, before)
    if op.name == CONCAT and concat_dim(op) == part.dim:
        return _of_operands(op, part, before, depth)
    return None if depth >= _DEPTH else _computed(op, part, before, depth)


def _computed(op: ir.Operation, part: Part, before: ir.Operation, depth: int) -> ir.Value | None:
    if op.name in CARRIERS:
        return carried(op, part, before, depth=depth + 1)
    found = structured(op)
    placed = op.name in ("linalg.fill", "linalg.broadcast")
    if found is not None and found.elementwise and (placed or _constant(op)):
        return on_slices(found, part, before, depth=depth + 1)
    return None


def on_slices(op: Structured, part: Part, before: ir.Operation, *, depth: int = 0) -> ir.Value | None:
    """A part of the op's result as the op on slices of its operands; None where that is none."""
    loop = op.loop_at(len(op.maps) - 1, part.dim)
    dims = None if loop is None else op.dims_of(loop)
    if loop is None or dims is None or op.reads_index(loop):
        return None
    operands = [
        slice_value(operand, replace(part, dim=dims[index]), before, depth=depth)
        if index in dims
        else operand
        for index, operand in enumerate(op.op.operands)
    ]
    return on_operands(op, operands, before)


def carried(op: ir.Operation, part: Part, before: ir.Operation, *, depth: int = 0) -> ir.Value | None:
    """A part of the result of one of CARRIERS as that op on a slice; None where that is none."""
    source = source_dim(op, part.dim)
    if isinstance(source, str) or part.offset % source.down or part.size % source.down:
        return None
    start, length = (count * source.up // source.down for count in (part.offset, part.size))
    taken = slice_value(op.operands[0], Part(source.dim, start, length), before, depth=depth)
    made = op.clone(ip=ir.InsertionPoint(before))
    made.operands[0] = taken
    type_ = resized(op.results[0].type, part)
    if op.name == _EXPAND:
        made.attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(type_.shape)
    made.results[0].set_type(type_)
    result: ir.Value = made.results[0]
    return result


def _of_operands(op: ir.Operation, part: Part, before: ir.Operation, depth: int) -> ir.Value | None:
    """A part of a concatenation: the operands that it overlaps, or what it takes of them."""
    sizes = [extent(operand, part.dim) for operand in op.operands]
    known = [item for item in sizes if item is not None]
    if len(known) < len(sizes):
        return None
    taken = []
    for operand, end, length in zip(op.operands, accumulate(known), known, strict=True):
        offset = part.offset - (end - length)
        start, stop = max(offset, 0), min(offset + part.size, length)
        if start < stop:
            taken.append(slice_value(operand, Part(part.dim, start, stop - start), before, depth=depth))
    return concat(taken, part.dim, before)


def concat(values: Sequence[ir.Value], dim: int, before: ir.Operation) -> ir.Value:
    """The values joined along `dim`; a single one is left as it is."""
    if len(values) == 1:
        return values[0]
    size = sum(ir.RankedTensorType(value.type).get_dim_size(dim) for value in values)
    i64 = ir.IntegerType.get_signless(64)
    type_ = resized(values[0].type, Part(dim, 0, size))
    return created(CONCAT, type_, list(values), {"dim": ir.IntegerAttr.get(i64, dim)}, before)


def _splat(op: ir.Operation, part: Part, before: ir.Operation) -> ir.Value | None:
    value = op.attributes["value"]
    if not isinstance(value, ir.DenseElementsAttr) or not value.is_splat:
        return None
    type_ = resized(op.results[0].type, part)
    splat = ir.DenseElementsAttr.get_splat(type_, value.get_splat_value())
    return created("arith.constant", type_, [], {"value": splat}, before)


def _constant(op: ir.Operation) -> bool:
    """Whether what an op computes is computed from constants alone, a few ops deep."""
    frontier = {op}
    for _ in range(_DEPTH):
        values = [value for item in frontier for value in item.operands]
        above = [producer(value) for value in values]
        ops = {item for item in above if item is not None}
        if any(item is None for item in above):
            return False
        frontier = {item for item in ops if item.name not in ("arith.constant", "tensor.empty")}
        if any(item.name not in CARRIERS and structured(item) is None for item in frontier):
            return False
        if not frontier:
            return True
    return False


def _extract(value: ir.Value, part: Part, before: ir.Operation) -> ir.Value:
    type_ = resized(value.type, part)
    dims = range(type_.rank)
    i64, dynamic = ir.DenseI64ArrayAttr, ir.ShapedType.get_dynamic_size()
    sizes = [dynamic if type_.is_dynamic_dim(dim) else type_.get_dim_size(dim) for dim in dims]
    given = [size for dim, size in dynamic_sizes(value, before) if dim != part.dim]
    attributes = {
        "static_offsets": i64.get([part.offset if dim == part.dim else 0 for dim in dims]),
        "static_sizes": i64.get(sizes),
        "static_strides": i64.get([1 for _ in dims]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(given), 0]),
    }
    return created("tensor.extract_slice", type_, [value, *given], attributes, before)


def dynamic_sizes(value: ir.Value, before: ir.Operation) -> list[tuple[int, ir.Value]]:
    """The dimensions of a tensor that have no constant size, each with its size."""
    index = ir.IndexType.get()
    sizes = []
    for dim in range(ir.RankedTensorType(value.type).rank):
        if extent(value, dim) is None:
            number = created("arith.constant", index, [], {"value": ir.IntegerAttr.get(index, dim)}, before)
            sizes.append((dim, created("tensor.dim", index, [value, number], {}, before)))
    return sizes


def resized(type_: ir.Type, part: Part) -> ir.RankedTensorType:
    """A tensor's type with as many elements along a dimension as a part has."""
    tensor = ir.RankedTensorType(type_)
    shape = [part.size if dim == part.dim else size for dim, size in enumerate(tensor.shape)]
    return ir.RankedTensorType.get(shape, tensor.element_type, tensor.encoding)


def created(
    name: str,
    type_: ir.Type,
    operands: list[ir.Value],
    attributes: dict[str, ir.Attribute],
    before: ir.Operation,
) -> ir.Value:
    """The result of a new op right before another, with that one's location."""
    made = ir.Operation.create(
        name,
        results=[type_],
        operands=operands,
        attributes=attributes,
        loc=before.location,
        ip=ir.InsertionPoint(before),
    )
    result: ir.Value = made.results[0]
    return result
