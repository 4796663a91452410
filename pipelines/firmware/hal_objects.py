"""Buffers, views, files and functions: what ops of the `hal` IR make of their operands, no more."""

from __future__ import annotations

from collections.abc import Callable

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.firmware.hal_commands import bytes_of, integer
from serenity_mlir.pipelines.firmware.hal_values import (
    Argument,
    Bytes,
    File,
    Function,
    Storage,
    Value,
    View,
)

Refuse = Callable[[ir.Operation], SerenityError]
"""Why there is no firmware for a module with an op."""


def _buffer_constant(op: ir.Operation, _given: list[Value], _refuse: Refuse) -> list[Value]:
    return [op]


def _element_type(op: ir.Operation, _given: list[Value], _refuse: Refuse) -> list[Value]:
    return [str(ir.TypeAttr(op.attributes["type"]).value)]


def _assert_view(op: ir.Operation, given: list[Value], refuse: Refuse) -> list[Value]:
    view, element, _, *shape = given
    if isinstance(view, Argument):
        view.shape = tuple(integer(op, size) for size in shape)
        view.element = str(element)
        return []
    raise refuse(op)


def _assert_buffer(op: ir.Operation, given: list[Value], _refuse: Refuse) -> list[Value]:
    storage = bytes_of(op, given[0]).storage
    storage.size = max(storage.size or 0, integer(op, given[2]))
    return []


def _view_buffer(op: ir.Operation, given: list[Value], refuse: Refuse) -> list[Value]:
    if isinstance(given[0], Argument):
        return [Bytes(given[0].storage, 0, given[0].storage.size)]
    if isinstance(given[0], View):
        return [given[0].bytes]
    raise refuse(op)


def _create_view(op: ir.Operation, given: list[Value], _refuse: Refuse) -> list[Value]:
    base = bytes_of(op, given[0])
    offset, length = integer(op, given[1]), integer(op, given[2])
    shape = tuple(integer(op, size) for size in given[5:])
    return [View(Bytes(base.storage, base.offset + offset, length), shape, str(given[3]))]


def _subspan(op: ir.Operation, given: list[Value], _refuse: Refuse) -> list[Value]:
    base = bytes_of(op, given[0])
    return [Bytes(base.storage, base.offset + integer(op, given[1]), integer(op, given[2]))]


def _import(op: ir.Operation, given: list[Value], refuse: Refuse) -> list[Value]:
    source = given[4]
    if not isinstance(source, ir.Operation):
        raise refuse(op)
    offset, length = integer(op, given[5]), integer(op, given[6])
    return [1, Bytes(Storage("constant", None, constant=source), offset, length)]


def _file(op: ir.Operation, given: list[Value], refuse: Refuse) -> list[Value]:
    if not isinstance(given[2], ir.Operation):
        raise refuse(op)
    return [File(given[2])]


def _lookup(op: ir.Operation, _given: list[Value], _refuse: Refuse) -> list[Value]:
    *_, name = ir.SymbolRefAttr(op.attributes["entry_point"]).value
    return [Function(name)]


def _await(_op: ir.Operation, _given: list[Value], _refuse: Refuse) -> list[Value]:
    return [0]


def _same(_op: ir.Operation, given: list[Value], _refuse: Refuse) -> list[Value]:
    return given


OBJECTS: dict[str, Callable[[ir.Operation, list[Value], Refuse], list[Value]]] = {
    "arith.index_cast": _same,
    "util.optimization_barrier": _same,
    "util.buffer.constant": _buffer_constant,
    "hal.element_type": _element_type,
    "hal.buffer_view.assert": _assert_view,
    "hal.buffer.assert": _assert_buffer,
    "hal.buffer_view.buffer": _view_buffer,
    "hal.buffer_view.create": _create_view,
    "hal.buffer.subspan": _subspan,
    "hal.allocator.import": _import,
    "hal.ex.file.from_memory": _file,
    "hal.executable.lookup.function": _lookup,
    "hal.fence.await": _await,
}
"""By the name of the op: its results, of the values of its operands."""
