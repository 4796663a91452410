"""Building ops on static tensors, at the current insertion point and location."""

from __future__ import annotations

from collections.abc import Sequence

from serenity_mlir.dialect_passes.mlir import ir


def constant(attribute: ir.FloatAttr | ir.IntegerAttr | ir.DenseElementsAttr) -> ir.Value:
    """An `arith.constant`."""
    results = [attribute.type]
    return ir.Operation.create("arith.constant", results=results, attributes={"value": attribute}).results[0]


def empty(kind: ir.RankedTensorType) -> ir.Value:
    """A `tensor.empty` of a static type."""
    return ir.Operation.create("tensor.empty", results=[kind]).results[0]


def compute(name: str, kind: ir.Type, *operands: ir.Value) -> ir.Value:
    """An op without attributes, of one result."""
    return ir.Operation.create(name, results=[kind], operands=operands).results[0]


def fill(value: ir.Value, into: ir.Value) -> ir.Value:
    """A `linalg.fill`."""
    return moving("linalg.fill", [value, into], {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])})


def moving(name: str, operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]) -> ir.Value:
    """A named linalg op that puts its first operand's elements into its second."""
    into = operands[-1]
    element = ir.ShapedType(into.type).element_type
    made = ir.Operation.create(name, results=[into.type], operands=operands, attributes=attributes, regions=1)
    block = made.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
    return made.results[0]


def generic(maps: Sequence[ir.AffineMap], inputs: Sequence[ir.Value], into: ir.Value) -> ir.Operation:
    """A `linalg.generic` with an empty block; loops that the last map leaves out are reductions."""
    written = {str(expr) for expr in maps[-1].results}
    kinds = ("parallel" if f"d{loop}" in written else "reduction" for loop in range(maps[0].n_dims))
    made = ir.Operation.create(
        "linalg.generic",
        results=[into.type],
        operands=[*inputs, into],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(item) for item in maps]),
            "iterator_types": ir.ArrayAttr.get(
                [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
            ),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    elements = [_element(value.type) for value in (*inputs, into)]
    made.regions[0].blocks.append(*elements)
    return made


def _element(kind: ir.Type) -> ir.Type:
    return kind.element_type if isinstance(kind, ir.RankedTensorType) else kind


def pad(like: ir.Operation, value: ir.Value, padding: ir.IntegerAttr) -> ir.Value:
    """What the `tensor.pad` `like` does, on `value` and with a constant of its type."""
    shaped = ir.RankedTensorType(like.results[0].type)
    made = ir.Operation.create(
        "tensor.pad",
        results=[ir.RankedTensorType.get(shaped.shape, padding.type, shaped.encoding)],
        operands=[value, *list(like.operands)[1:]],
        attributes={key: like.attributes[key] for key in like.attributes},
        regions=1,
    )
    block = made.regions[0].blocks.append(*[ir.IndexType.get()] * shaped.rank)
    with ir.InsertionPoint(block):
        ir.Operation.create("tensor.yield", operands=[constant(padding)])
    return made.results[0]


def padding(op: ir.Operation) -> ir.Value:
    """What a `tensor.pad` writes."""
    block = op.regions[0].blocks[0]
    return block.operations[len(block.operations) - 1].operands[0]


def copy_into(block: ir.Block, op: ir.Operation, now: dict[ir.Value, ir.Value]) -> None:
    """Append a copy of `op` to a block, on what `now` says of its operands, and note its results there."""
    copy = op.clone(ip=ir.InsertionPoint(block))
    for index, value in enumerate(op.operands):
        copy.operands[index] = now.get(value, value)
    now.update(zip(op.results, copy.results, strict=True))
