"""`serenity-reuse-operands`: the result of a dispatch overwrites an operand that nothing reads later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from serenity_mlir.dialect_passes.flow.slices import is_callers
from serenity_mlir.dialect_passes.linalg.quantization import producer
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.linalg.structured import structured
from serenity_mlir.dialect_passes.linalg.tensor_ops import copy_into, generic
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import destinations, is_constant, nested_ops
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

PATTERN = "reuse-operand"
DISPATCH = "flow.dispatch.workgroups"
_LOAD, _STORE = "iree_tensor_ext.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.store"
_VIEWS = frozenset({"flow.tensor.reshape", "flow.tensor.bitcast"})


@dataclass(frozen=True)
class ReuseOperandsPass(Pass[list[str]]):
    """Ties the result of an element-wise op at the end of a dispatch to an operand that dies there.

    An activation, a residual sum or a requantisation then takes no storage of its own. The op gets
    the operand as what it writes into, so that code generation knows that reading comes first.
    Belongs after IREE's `dispatch-creation` phase. Bit-exact.
    """

    name: ClassVar[str] = "serenity-reuse-operands"

    def apply(self, module: ir.Operation) -> list[str]:
        """Tie every result that fits; returns the keys of the sites."""
        return apply_sites(module, find)


@dataclass(frozen=True, slots=True)
class _Tie:
    """A result that can overwrite an operand.

    Attributes:
        dispatch: The `flow.dispatch.workgroups`.
        operand: Number of the operand, workload left out.
        load: What reads it, inside.
        last: The `linalg.generic` that computes the result from it.
        store: What writes the result, inside.
    """

    dispatch: ir.Operation
    operand: int
    load: ir.Operation
    last: ir.Operation
    store: ir.Operation


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Dispatches with one result that read an operand of its type element by element."""
    for op in nested_ops(module):
        if op.name != DISPATCH or len(op.results) != 1 or destinations(op) != [None]:
            continue
        reasons: list[str] = []
        for tie in _ties(op):
            reason = _why_not(tie)
            if reason is None:
                yield Site(PATTERN, op, exact=True, apply=partial(_apply, op))
                break
            reasons.append(reason)
        else:
            yield from (Refusal(PATTERN, op, reason) for reason in reasons[:1])


def _apply(dispatch: ir.Operation) -> None:
    """Tie the first operand that fits, unless another site took it."""
    tie = next((tie for tie in _ties(dispatch) if _why_not(tie) is None), None)
    if tie is not None:
        _bind(tie)


def _ties(dispatch: ir.Operation) -> Iterator[_Tie]:
    block = dispatch.regions[0].blocks[0]
    workload, operands = list(ir.DenseI32ArrayAttr(dispatch.attributes["operandSegmentSizes"]))[:2]
    written = [use.owner.operation for use in block.arguments[len(block.arguments) - 1].uses]
    if len(written) != 1 or written[0].name != _STORE or not _whole(written[0], block.arguments[operands]):
        return
    last = producer(written[0].operands[0])
    if last is None or last.name != "linalg.generic" or len(last.results) != 1:
        return
    for index in range(operands):
        if dispatch.operands[workload + index].type != dispatch.results[0].type:
            continue
        read = [use.owner.operation for use in block.arguments[index].uses]
        if len(read) == 1 and read[0].name == _LOAD and _whole(read[0], block.arguments[index]):
            yield _Tie(dispatch, index, read[0], last, written[0])


def _whole(op: ir.Operation, argument: ir.Value) -> bool:
    """Whether a load or store is of all that an argument of constant size holds."""
    tensor = op.results[0].type if op.name == _LOAD else op.operands[0].type
    held = str(argument.type).partition(":")[2].removesuffix(">")
    offsets = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
    return tensor_bytes(tensor) is not None and str(tensor) == held and not any(offsets)


def _why_not(tie: _Tie) -> str | None:
    """Why a result must not overwrite an operand; None where it may."""
    reason = _why_not_inside(tie)
    if reason is not None:
        return reason
    dispatch = tie.dispatch
    workload = ir.DenseI32ArrayAttr(dispatch.attributes["operandSegmentSizes"])[0]
    value = dispatch.operands[workload + tie.operand]
    root = _root(value)
    made = producer(root)
    if made is None or is_callers(made) or is_constant(made):
        return "the operand is the caller's or a constant"
    others = [item for index, item in enumerate(dispatch.operands) if index != workload + tie.operand]
    if any(_root(item) == root for item in others):
        return "the operand is read in more than one way"
    if any(
        reader.block != dispatch.block or dispatch.is_before_in_block(reader) for reader in _readers(root)
    ):
        return "the operand is read later"
    return None


def _why_not_inside(tie: _Tie) -> str | None:
    found = structured(tie.last)
    uses = list(tie.load.results[0].uses)
    if found is None or not found.elementwise or found.reads(len(found.maps) - 1):
        return "what computes the result is not element-wise"
    if len(uses) != 1 or uses[0].owner.operation != tie.last:
        return "the operand is read by more than what computes the result"
    if found.maps[uses[0].operand_number] != found.maps[-1]:
        return "the operand is read at other positions than the result is written"
    return None


def _root(value: ir.Value) -> ir.Value:
    """The value whose storage a value is."""
    made = producer(value)
    return _root(made.operands[0]) if made is not None and made.name in _VIEWS else value


def _readers(root: ir.Value) -> Iterator[ir.Operation]:
    """Who uses a value or a view of it, views left out."""
    for use in root.uses:
        user = use.owner.operation
        if user.name in _VIEWS:
            yield from _readers(user.results[0])
        else:
            yield user


def _bind(tie: _Tie) -> None:
    dispatch, block = tie.dispatch, tie.dispatch.regions[0].blocks[0]
    argument = block.arguments[tie.operand]
    argument.set_type(
        ir.Type.parse(str(argument.type).replace("<readonly:", "<readwrite:"), dispatch.context)
    )
    tie.store.operands[1] = argument
    block.erase_argument(len(block.arguments) - 1)
    with dispatch.context:
        index = ir.IntegerAttr.get(ir.IndexType.get(), tie.operand)
        dispatch.attributes["tied_operands"] = ir.ArrayAttr.get([index])
    _write_into(tie.last, tie.load.results[0])


def _write_into(op: ir.Operation, operand: ir.Value) -> None:
    """Let a `linalg.generic` read an operand as what it writes into."""
    found = structured(op)
    if found is None:
        raise ValueError(f"no structured op: {op.name}")
    index = list(op.operands).index(operand)
    kept = [number for number in range(len(op.operands) - 1) if number != index]
    with ir.InsertionPoint(op), op.location:
        maps = [ir.AffineMap.get(found.loops, 0, list(found.maps[number])) for number in (*kept, index)]
        made = generic(maps, [op.operands[number] for number in kept], operand)
    old, new = op.regions[0].blocks[0], made.regions[0].blocks[0]
    now = {old.arguments[number]: new.arguments[place] for place, number in enumerate((*kept, index))}
    for inner in old.operations:
        copy_into(new, inner.operation, now)
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()
