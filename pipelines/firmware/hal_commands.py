"""Commands of the `hal` IR: what is recorded in command buffers, and what queues do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.firmware.hal_values import (
    Bytes,
    CommandBuffer,
    File,
    Function,
    RawCommand,
    RawCopy,
    RawDispatch,
    RawFill,
    Slot,
    Storage,
    Value,
)

_WORD = 2**32


class Recorder(Protocol):
    """What queue operations add to."""

    commands: list[RawCommand]
    allocations: list[Storage]


def integer(op: ir.Operation, value: Value) -> int:
    """A number that must be known.

    Raises:
        SerenityError: It is none.
    """
    if not isinstance(value, int):
        raise SerenityError(
            f"firmware needs literal arguments, which {op.name} has not", where=str(op.location)
        )
    return int(value)


def bytes_of(op: ir.Operation, value: Value) -> Bytes:
    """A buffer.

    Raises:
        SerenityError: It is none.
    """
    if not isinstance(value, Bytes):
        raise SerenityError(f"firmware cannot follow the buffer of {op.name}", where=str(op.location))
    return value


def _slot(op: ir.Operation, base: Value, offset: Value, length: Value) -> Slot:
    target = base if isinstance(base, int) else bytes_of(op, base)
    return Slot(target, integer(op, offset), integer(op, length))


def _buffer(op: ir.Operation, value: Value) -> CommandBuffer:
    if not isinstance(value, CommandBuffer):
        raise SerenityError(f"firmware cannot follow the command buffer of {op.name}", where=str(op.location))
    return value


def _create(_op: ir.Operation, _given: list[Value]) -> list[Value]:
    return [CommandBuffer()]


def _nothing(_op: ir.Operation, _given: list[Value]) -> list[Value]:
    return []


def _pattern(op: ir.Operation, value: Value) -> bytes:
    width: int = ir.IntegerType(op.operands[len(op.operands) - 1].type).width
    return (integer(op, value) % (1 << width)).to_bytes(width // 8, "little")


def _fill(op: ir.Operation, given: list[Value]) -> list[Value]:
    commands, base, offset, length, pattern = given
    target = _slot(op, base, offset, length)
    _buffer(op, commands).commands.append(RawFill(target, _pattern(op, pattern)))
    return []


def _copy(op: ir.Operation, given: list[Value]) -> list[Value]:
    commands, source, start, target, to, length = given
    copy = RawCopy(_slot(op, source, start, length), _slot(op, target, to, length))
    _buffer(op, commands).commands.append(copy)
    return []


def _update(op: ir.Operation, given: list[Value]) -> list[Value]:
    commands, source, _, start, target, to, length = given
    copy = RawCopy(_slot(op, _constant(op, source), start, length), _slot(op, target, to, length))
    _buffer(op, commands).commands.append(copy)
    return []


def _constant(op: ir.Operation, source: Value) -> Bytes:
    if not isinstance(source, ir.Operation):
        raise SerenityError(f"{op.name} takes bytes that are no constant", where=str(op.location))
    return Bytes(Storage("constant", None, constant=source), 0, None)


def _dispatch(op: ir.Operation, given: list[Value]) -> list[Value]:
    constants, bindings = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[6:8]
    function = given[2]
    if not isinstance(function, Function):
        raise SerenityError(f"{op.name} of a function that is not known", where=str(op.location))
    x, y, z = (integer(op, value) for value in given[3:6])
    words = [integer(op, value) % _WORD for value in given[6 : 6 + constants]]
    rest = given[6 + constants :]
    parts = zip(rest[:bindings], rest[bindings : 2 * bindings], rest[2 * bindings :], strict=True)
    slots = tuple(_slot(op, *part) for part in parts)
    _buffer(op, given[0]).commands.append(RawDispatch(function.name, (x, y, z), tuple(words), slots))
    return []


COMMANDS: dict[str, Callable[[ir.Operation, list[Value]], list[Value]]] = {
    "hal.command_buffer.create": _create,
    "hal.command_buffer.finalize": _nothing,
    "hal.command_buffer.execution_barrier": _nothing,
    "hal.command_buffer.begin_debug_group": _nothing,
    "hal.command_buffer.end_debug_group": _nothing,
    "hal.command_buffer.fill_buffer": _fill,
    "hal.command_buffer.copy_buffer": _copy,
    "hal.command_buffer.update_buffer": _update,
    "hal.command_buffer.dispatch": _dispatch,
}


def _alloca(op: ir.Operation, given: list[Value], target: Recorder) -> list[Value]:
    size = integer(op, given[-1])
    target.allocations.append(Storage("allocation", size, first=len(target.commands)))
    return [Bytes(target.allocations[-1], 0, size)]


def _dealloca(op: ir.Operation, given: list[Value], target: Recorder) -> list[Value]:
    bytes_of(op, given[4]).storage.last = len(target.commands)
    return []


def _execute(op: ir.Operation, given: list[Value], target: Recorder) -> list[Value]:
    for value in given[4:]:
        target.commands += (bound(command, ()) for command in _buffer(op, value).commands)
    return []


def _execute_indirect(op: ir.Operation, given: list[Value], target: Recorder) -> list[Value]:
    count = (len(given) - 5) // 3
    parts = (given[5 + turn * count : 5 + (turn + 1) * count] for turn in range(3))
    table = [_slot(op, *part) for part in zip(*parts, strict=True)]
    target.commands += (bound(command, table) for command in _buffer(op, given[4]).commands)
    return []


def _queue_fill(op: ir.Operation, given: list[Value], target: Recorder) -> list[Value]:
    base, offset, length, pattern = given[4:]
    target.commands.append(RawFill(_slot(op, base, offset, length), _pattern(op, pattern)))
    return []


def _queue_copy(op: ir.Operation, given: list[Value], target: Recorder) -> list[Value]:
    source, start, base, to, length = given[4:]
    target.commands.append(RawCopy(_slot(op, source, start, length), _slot(op, base, to, length)))
    return []


def _queue_update(op: ir.Operation, given: list[Value], target: Recorder) -> list[Value]:
    return _queue_copy(op, [*given[:4], _constant(op, given[4]), *given[5:]], target)


def _queue_read(op: ir.Operation, given: list[Value], target: Recorder) -> list[Value]:
    source, start, base, to, length = given[4:]
    if not isinstance(source, File):
        raise SerenityError(f"{op.name} of a file that is no constant", where=str(op.location))
    return _queue_copy(op, [*given[:4], _constant(op, source.op), start, base, to, length], target)


QUEUE: dict[str, Callable[[ir.Operation, list[Value], Recorder], list[Value]]] = {
    "hal.device.queue.alloca": _alloca,
    "hal.device.queue.dealloca": _dealloca,
    "hal.device.queue.execute": _execute,
    "hal.device.queue.execute.indirect": _execute_indirect,
    "hal.device.queue.fill": _queue_fill,
    "hal.device.queue.copy": _queue_copy,
    "hal.device.queue.update": _queue_update,
    "hal.device.queue.read": _queue_read,
}


def bound(command: RawCommand, table: Sequence[Slot]) -> RawCommand:
    """A command with its slots looked up in a binding table."""

    def look_up(slot: Slot) -> Slot:
        if not isinstance(slot.base, int):
            return slot
        if slot.base >= len(table):
            raise SerenityError(f"a command uses binding slot {slot.base} of {len(table)}")
        found = table[slot.base]
        return Slot(found.base, found.offset + slot.offset, slot.length)

    if isinstance(command, RawFill):
        return RawFill(look_up(command.target), command.pattern)
    if isinstance(command, RawCopy):
        return RawCopy(look_up(command.source), look_up(command.target))
    slots = tuple(look_up(slot) for slot in command.bindings)
    return RawDispatch(command.export, command.workgroups, command.constants, slots)
