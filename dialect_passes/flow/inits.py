"""What reductions start from: a bias that is there for each position is made where it is read."""

from __future__ import annotations

from itertools import pairwise

from serenity_mlir.dialect_passes.linalg.quantization import erase_dead, producer
from serenity_mlir.dialect_passes.linalg.reach import of_constants
from serenity_mlir.dialect_passes.linalg.slicing import created, groups
from serenity_mlir.dialect_passes.linalg.structured import Structured, structured
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

_EXPAND = "tensor.expand_shape"


def spread_in_shape(root: ir.Operation) -> None:
    """Let a reduction start from a bias that is spread in the shape that it has there.

    Of grouped convolutions it is spread first and takes that shape then. A reshape does not go into a
    dispatch, and IREE would make what it gives when the program is loaded, to keep it from then on.
    """
    reshape = producer(root.operands[len(root.operands) - 1])
    if reshape is None or reshape.name != _EXPAND or tensor_bytes(reshape.results[0].type) is None:
        return
    spread = producer(reshape.operands[0])
    found = None if spread is None else structured(spread)
    if found is not None and _spreads(found):
        with reshape.location:
            reshape.results[0].replace_all_uses_with(_in_shape(found, reshape))
        erase_dead(reshape)


def _spreads(op: Structured) -> bool:
    """Whether an op puts the elements of one constant wherever some of its loops do not matter."""
    if op.op.name != "linalg.generic" or len(op.maps) != 2 or not of_constants(op.op):
        return False
    loops = [op.loop_at(0, dim) for dim in range(len(op.maps[0]))]
    written = [op.loop_at(1, dim) for dim in range(len(op.maps[1]))]
    ordered = None not in loops and loops == sorted(set(loops), key=lambda loop: loop or 0)
    return ordered and written == list(range(op.loops)) and not any(map(op.reads_index, range(op.loops)))


def _in_shape(op: Structured, reshape: ir.Operation) -> ir.Value:
    kind = ir.RankedTensorType(reshape.results[0].type)
    parts = [groups(reshape)[op.loop_at(0, dim) or 0] for dim in range(len(op.maps[0]))]
    source = op.op.operands[0]
    if any(len(part) > 1 for part in parts):
        source = _expanded(source, parts, kind, reshape)
    dims = [ir.AffineExpr.get_dim(dim) for part in parts for dim in part]
    maps = [ir.AffineMap.get(kind.rank, 0, dims), ir.AffineMap.get_identity(kind.rank)]
    made = op.op.clone(ip=ir.InsertionPoint(reshape))
    made.operands[0] = source
    made.operands[1] = created("tensor.empty", kind, [], {}, reshape)
    made.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(item) for item in maps])
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    made.attributes["iterator_types"] = ir.ArrayAttr.get([parallel] * kind.rank)
    made.results[0].set_type(kind)
    result: ir.Value = made.results[0]
    return result


def _expanded(
    source: ir.Value, parts: list[list[int]], kind: ir.RankedTensorType, before: ir.Operation
) -> ir.Value:
    shape = [kind.get_dim_size(dim) for part in parts for dim in part]
    wide = ir.IntegerType.get_signless(64)
    ends = [sum(len(part) for part in parts[:number]) for number in range(len(parts) + 1)]
    reassociation = [
        ir.ArrayAttr.get([ir.IntegerAttr.get(wide, dim) for dim in range(first, last)])
        for first, last in pairwise(ends)
    ]
    attributes = {
        "reassociation": ir.ArrayAttr.get(reassociation),
        "static_output_shape": ir.DenseI64ArrayAttr.get(shape),
    }
    return created(_EXPAND, ir.RankedTensorType.get(shape, kind.element_type), [source], attributes, before)
