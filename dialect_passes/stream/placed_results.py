"""Dispatches that write their result right into a slice of a larger buffer, or apart and with a copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import access_of, constant_index, only_writes

_ALLOCA, _DISPATCH, _UPDATE = "stream.async.alloca", "stream.async.dispatch", "stream.async.update"
_SEGMENTS = "operandSegmentSizes"
_TIED = "tied_operands"


@dataclass
class PlacedResult:
    """A dispatch whose one result IREE placed into a slice of a buffer.

    Attributes:
        buffer: The `stream.async.alloca` of that buffer.
        dispatch: The op that is in the body now: with the place, or apart.
    """

    buffer: ir.Operation
    dispatch: ir.Operation
    _placed: ir.Operation | None = None

    def separate(self) -> None:
        """Let the dispatch write a buffer of its own, and copy that into the slice."""
        placed = self.dispatch
        count = _resources(placed)
        operands = list(placed.operands)
        kept = [operands[part * count : (part + 1) * count - 1] for part in range(5)]
        target, size, offset, end, length = (operands[(part + 1) * count - 1] for part in range(5))
        index = ir.IndexType.get(placed.context)
        attributes = {name: placed.attributes[name] for name in placed.attributes}
        attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get([0, *[count - 1] * 5, 1], placed.context)
        attributes[_TIED] = ir.ArrayAttr.get([ir.IntegerAttr.get(index, -1)], placed.context)
        apart = ir.Operation.create(
            _DISPATCH,
            results=[target.type],
            operands=[*(value for part in kept for value in part), length],
            attributes=attributes,
            loc=placed.location,
            ip=ir.InsertionPoint(placed),
        )
        update = ir.Operation.create(
            _UPDATE,
            results=[target.type],
            operands=[target, size, offset, end, apart.results[0], length],
            loc=placed.location,
            ip=ir.InsertionPoint(placed),
        )
        placed.results[0].replace_all_uses_with(update.results[0])
        placed.detach_from_parent()
        self.dispatch, self._placed = apart, placed

    def undo(self) -> None:
        """Put the dispatch back into its place, which may be another name of the buffer by now."""
        if self._placed is None:
            raise ValueError("nothing to undo")
        (use,) = self.dispatch.results[0].uses
        update = use.owner.operation
        ir.InsertionPoint(update).insert(self._placed)
        self._placed.operands[_resources(self._placed) - 1] = update.operands[0]
        update.results[0].replace_all_uses_with(self._placed.results[0])
        update.erase()
        self.dispatch.erase()
        self.dispatch, self._placed = self._placed, None

    def settle(self) -> None:
        """Drop what would be needed to undo."""
        if self._placed is not None:
            self._placed.erase()
            self._placed = None


def placed_results(execute: ir.Operation) -> Iterator[PlacedResult]:
    """The dispatches of a body whose only result is a slice of a buffer that they write and do not read."""
    for item in execute.regions[0].blocks[0].operations:
        op = item.operation
        if op.name != _DISPATCH or not _writes_last_operand(op):
            continue
        buffer = _origin(op)
        last = _resources(op) - 1
        size, length = (constant_index(op.operands[part * (last + 1) + last]) for part in (1, 4))
        if buffer is not None and size is not None and length is not None and length < size:
            yield PlacedResult(buffer, op)


def _resources(dispatch: ir.Operation) -> int:
    return int(list(ir.DenseI32ArrayAttr(dispatch.attributes[_SEGMENTS]))[1])


def _writes_last_operand(op: ir.Operation) -> bool:
    """Whether all operands are buffers, and the last is the one result, which the function only writes."""
    workload, count, *parts, results = ir.DenseI32ArrayAttr(op.attributes[_SEGMENTS])
    if workload or results != 1 or not count or any(part != count for part in parts):
        return False
    return _tied(op) == count - 1 and only_writes(op, count - 1)


def _tied(op: ir.Operation) -> int | None:
    """The operand whose storage the one result has; None where that is its own, or there are several."""
    results = access_of(op).results
    return results[0].tied if len(results) == 1 else None


def _origin(dispatch: ir.Operation) -> ir.Operation | None:
    """The alloca that the result's buffer is from; None where anything else made it."""
    op = dispatch
    while op.name != _ALLOCA:
        tied = _tied(op)
        if tied is None or isinstance(op.operands[tied].owner, ir.Block):
            return None
        op = op.operands[tied].owner.operation
    return op
