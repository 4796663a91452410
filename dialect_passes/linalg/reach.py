"""Which of the model's nodes a rewrite may touch: those between the reductions around its anchor."""

from __future__ import annotations

from collections.abc import Iterator

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.node_names import node_names
from serenity_mlir.dialect_passes.tensors.op_kinds import is_constant

_NOT_REDUCING = (
    "tensor.",
    "arith.",
    "util.",
    "linalg.fill",
    "linalg.broadcast",
    "linalg.transpose",
    "linalg.map",
)


def names_around(anchor: ir.Operation) -> frozenset[str]:
    """Nodes of the anchor, and of all ops from the reductions that feed it to those that it feeds.

    What lies beyond has buffers of its own, whatever becomes of the anchor.
    """
    return frozenset(name for op in _ops_around(anchor) for name in node_names(op.location))


def sums_floats_around(anchor: ir.Operation) -> bool:
    """Whether the anchor or a reduction next to it adds up floats.

    What IREE fuses into such an op decides about the code for it, and so about the order of its sums.
    """
    return any(_reduces(op) and any(map(holds_floats, op.results)) for op in _ops_around(anchor))


def _ops_around(anchor: ir.Operation) -> set[ir.Operation]:
    found = {anchor}
    for step in (_producers, _users):
        seen = {anchor}
        work = [anchor]
        while work:
            op = work.pop()
            if op is not anchor and _reduces(op):
                continue
            for other in step(op):
                if other not in seen:
                    seen.add(other)
                    work.append(other)
        found |= seen
    return found


def holds_floats(value: ir.Value) -> bool:
    """Whether a value is a tensor of floats."""
    return isinstance(value.type, ir.ShapedType) and isinstance(value.type.element_type, ir.FloatType)


def _producers(op: ir.Operation) -> Iterator[ir.Operation]:
    """Ops that activations come from. Constants are shared, so that their names say nothing."""
    for operand in op.operands:
        if not isinstance(operand.owner, ir.Block) and not of_constants(operand.owner.operation):
            yield operand.owner.operation


def of_constants(op: ir.Operation, depth: int = 3) -> bool:
    """Whether an op is made of constants alone, as fills and biases are, as far as `depth` ops up show it."""
    if not len(op.operands):
        return is_constant(op)
    return depth > 0 and all(
        not isinstance(operand.owner, ir.Block) and of_constants(operand.owner.operation, depth - 1)
        for operand in op.operands
    )


def _users(op: ir.Operation) -> Iterator[ir.Operation]:
    for result in op.results:
        for use in result.uses:
            yield use.owner.operation


def _reduces(op: ir.Operation) -> bool:
    """Whether an op certainly starts a dispatch of its own, or is one."""
    if op.name.startswith("flow.dispatch."):
        return True
    if op.name == "linalg.generic":
        return "reduction" in str(op.attributes["iterator_types"])
    return op.name.startswith("linalg.") and not op.name.startswith(_NOT_REDUCING)
