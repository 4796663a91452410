"""`serenity-preserve-values`: no region writes over a value that is read after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.access import access_of, is_resource
from serenity_mlir.dialect_passes.stream.regions import regions

_AWAIT, _IF, _SELECT, _YIELD = "stream.timepoint.await", "scf.if", "arith.select", "scf.yield"
_IMPORT = "stream.tensor.import"
_CLONE, _TIED = "stream.async.clone", "tied_operands"
_LOOPS = ("scf.for", "scf.while")
_ONLY_READ = ("stream.async.execute", "stream.async.load", "stream.resource.size", "hal.buffer_view.assert")
"""Ops that are done with a value when they have run; whatever else has it may show it later."""


@dataclass(frozen=True)
class _Write:
    """An op of a region that overwrites `value`, its operand `operand`, of `size` bytes."""

    execute: ir.Operation
    op: ir.Operation
    operand: int
    value: ir.Value
    size: ir.Value


@dataclass(frozen=True)
class PreserveValuesPass(Pass[int]):
    """Copies what a region overwrites first where its old value is read after the region.

    IREE leaves a copy out where it takes an update for the last use of a value. It does not see that an
    `scf.if` or `arith.select` hands a value on, that an `scf.if` reads it, or that an argument is returned as
    well (decision 0103). Belongs after IREE's async pipeline, which decides what is in place. What flows
    through loops or branches between blocks is not followed.
    """

    name: ClassVar[str] = "serenity-preserve-values"

    def apply(self, module: ir.Operation) -> int:
        """Insert the copies; returns how many."""
        found = [
            write
            for region in regions(module)
            if region.role == "model"
            for write in _writes(region.op)
            if _is_read_later(write)
        ]
        for write in found:
            _copy(write)
        return len(found)


def _writes(execute: ir.Operation) -> Iterator[_Write]:
    """The first write over each operand of a region, and over each value of its own that it yields."""
    block = execute.regions[0].blocks[0]
    arguments, seen = list(block.arguments), set()
    *ops, end = (item.operation for item in block.operations)
    sizes = dict(zip(arguments, list(execute.operands)[len(arguments) :], strict=False))
    results = list(execute.operands)[2 * len(arguments) :]
    sizes |= dict(zip(end.operands, results, strict=False))
    for op in ops:
        for result in access_of(op).results:
            if result.tied is None:
                continue
            value = op.operands[result.tied]
            if value in sizes and value not in seen:
                seen.add(value)
                yield _Write(execute, op, result.tied, value, sizes[value])


def _copy(write: _Write) -> None:
    """Let the op overwrite a copy of the value."""
    execute, ip = write.execute, ir.InsertionPoint(write.op)
    operands, loc = [write.value, write.size, write.size], write.op.location
    made = ir.Operation.create(_CLONE, results=[write.value.type], operands=operands, loc=loc, ip=ip)
    write.op.operands[write.operand] = made.results[0]
    if isinstance(write.value.owner, ir.Block) and _TIED in execute.attributes:
        number = ir.BlockArgument(write.value).arg_number
        index = ir.IndexType.get(execute.context)
        ties = [ir.IntegerAttr(item).value for item in ir.ArrayAttr(execute.attributes[_TIED])]
        untied = [ir.IntegerAttr.get(index, -1 if tie == number else tie) for tie in ties]
        execute.attributes[_TIED] = ir.ArrayAttr.get(untied, execute.context)


def _is_read_later(write: _Write) -> bool:
    """Whether what is overwritten may be read, by its old name or one of another branch, after its region."""
    execute, value = write.execute, write.value
    end = list(execute.regions[0].blocks[0].operations)[-1].operation
    names = [execute.results[at] for at, item in enumerate(end.operands) if item == value]
    own = None
    if isinstance(value.owner, ir.Block):
        own = execute.operands[ir.BlockArgument(value).arg_number]
        names.append(own)
    return any(
        not _is_done(use.owner.operation, execute, item)
        for item in _sharing(names)
        for use in item.uses
        if not list(_handed_on(use)) and not (use.owner.operation == execute and item == own)
    )


def _sharing(names: list[ir.Value]) -> list[ir.Value]:
    """All values that may have the storage of those named, as they are before it is overwritten."""
    found = list(names)
    for item in found:  # which grows
        near = [*_origins(item), *(result for use in item.uses for result in _handed_on(use))]
        found.extend(other for other in near if other not in found)
    return found


def _origins(value: ir.Value) -> Iterator[ir.Value]:
    """The values that an op made `value` of without storage of its own."""
    if isinstance(value.owner, ir.Block):
        return
    op, position = value.owner.operation, ir.OpResult(value).result_number
    if op.name == _IMPORT:
        yield op.operands[0]  # the caller's buffer, which may be returned as it is
    elif op.name == _AWAIT:
        yield [item for item in op.operands if is_resource(item)][position]
    elif op.name == _SELECT:
        yield from list(op.operands)[1:]
    elif op.name == _IF:
        for region in op.regions:
            yield list(region.blocks[0].operations)[-1].operation.operands[position]


def _handed_on(use: ir.OpOperand) -> Iterator[ir.Value]:
    """The values that have the storage of an operand by what its op does with it."""
    op, number = use.owner.operation, use.operand_number
    if op.name == _IMPORT and number == 0:
        yield op.results[0]
    elif op.name == _AWAIT:
        resources = [at for at, item in enumerate(op.operands) if is_resource(item)]
        yield op.results[resources.index(number)]
    elif op.name == _SELECT:
        yield op.results[0]
    elif op.name == _YIELD and op.parent.name == _IF:
        yield op.parent.operation.results[number]


def _is_done(user: ir.Operation, execute: ir.Operation, value: ir.Value) -> bool:
    """Whether `user`, which reads `value`, never runs after `execute`, as far as that is plain to see."""
    if user.name not in _ONLY_READ:
        return False
    outer: dict[ir.Block, ir.Operation] = {}
    op = user
    while op.parent is not None:
        outer[op.block] = op
        op = op.parent.operation
    mine = execute
    while mine.block not in outer:
        mine = mine.parent.operation
    home = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    block = mine.block
    while block != home:
        around = block.owner.operation
        if around.name in _LOOPS or around.parent is None:
            return False  # it may run again in the next round
        block = around.block
    other = outer[mine.block]
    if other == mine:
        return bool(mine.name == _IF and user != mine)  # the other arm
    return bool(other.is_before_in_block(mine))
