"""Dispatches that write their result right into a slice of a larger buffer, or apart and with a copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import access_of, constant_index, is_resource, only_writes

_ALLOCA, _DISPATCH, _UPDATE = "stream.async.alloca", "stream.async.dispatch", "stream.async.update"
_SEGMENTS = "operandSegmentSizes"
_TIED = "tied_operands"
_OF_RESOURCE = range(1, 6)
"""The segments of operands that have a value for each resource."""


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
        self._placed = self.dispatch
        self.dispatch = separate(self.dispatch)
        self._placed.detach_from_parent()

    def undo(self) -> None:
        """Put the dispatch back into its place, which may be another name of the buffer by now."""
        if self._placed is None:
            raise ValueError("nothing to undo")
        (use,) = self.dispatch.results[0].uses
        update = use.owner.operation
        ir.InsertionPoint(update).insert(self._placed)
        self._placed.operands[_place(self._placed)] = update.operands[0]
        update.results[0].replace_all_uses_with(self._placed.results[0])
        update.erase()
        self.dispatch.erase()
        self.dispatch, self._placed = self._placed, None

    def settle(self) -> None:
        """Drop what would be needed to undo."""
        if self._placed is not None:
            self._placed.erase()
            self._placed = None


def separate(placed: ir.Operation) -> ir.Operation:
    """A dispatch as `placed`, right before it, with results of its own that are copied to their places.

    `placed` stays, without users.
    """
    segments, count = _segments(placed), _placed_count(placed)
    places = list(zip(*(segments[part][-count:] for part in _OF_RESOURCE), strict=True))
    for part in _OF_RESOURCE:
        del segments[part][-count:]
    segments[-1][:count] = [length for *_, length in places]
    index = ir.IndexType.get(placed.context)
    attributes = {name: placed.attributes[name] for name in placed.attributes}
    attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get([len(part) for part in segments], placed.context)
    ties = [ir.IntegerAttr.get(index, -1)] * count + list(ir.ArrayAttr(placed.attributes[_TIED]))[count:]
    attributes[_TIED] = ir.ArrayAttr.get(ties, placed.context)
    apart = ir.Operation.create(
        _DISPATCH,
        results=[result.type for result in placed.results],
        operands=[value for part in segments for value in part],
        attributes=attributes,
        loc=placed.location,
        ip=ir.InsertionPoint(placed),
    )
    whole: dict[ir.Value, ir.Value] = {}  # by place: what was copied into it so far
    for made, (target, size, offset, end, length) in zip(apart.results, places, strict=False):
        update = ir.Operation.create(
            _UPDATE,
            results=[target.type],
            operands=[whole.get(target, target), size, offset, end, made, length],
            loc=placed.location,
            ip=ir.InsertionPoint(placed),
        )
        whole[target] = update.results[0]
    for position, old in enumerate(placed.results):
        new = whole[places[position][0]] if position < count else apart.results[position]
        old.replace_all_uses_with(new)
    return apart


def placed_results(execute: ir.Operation) -> Iterator[PlacedResult]:
    """The dispatches of a body whose only result is a slice of a buffer that they write and do not read."""
    for op in _placing(execute):
        buffer = _origin(op) if len(op.results) == 1 else None
        _, sizes, *_, lengths, _ = (part[-1:] for part in _segments(op)[1:])
        size, length = (constant_index(value) for value in (*sizes, *lengths))
        if buffer is not None and size is not None and length is not None and length < size:
            yield PlacedResult(buffer, op)


def overwriting(execute: ir.Operation) -> Iterator[ir.Operation]:
    """The dispatches of a body of which IREE placed a result over what they read through another operand."""
    for op in _placing(execute):
        _, operands, _, offsets, ends, _, _ = _segments(op)
        resources = [_storage(value) for value in operands if is_resource(value)]
        spans = [tuple(map(constant_index, ends_)) for ends_ in zip(offsets, ends, strict=True)]
        used, count = list(zip(resources, spans, strict=True)), _placed_count(op)
        if any(
            value == target and _meet(span, written)
            for value, span in used[:-count]
            for target, written in used[-count:]
        ):
            yield op


def _placing(execute: ir.Operation) -> Iterator[ir.Operation]:
    for item in execute.regions[0].blocks[0].operations:
        if item.operation.name == _DISPATCH and _placed_count(item.operation):
            yield item.operation


def _meet(one: tuple[int | None, ...], other: tuple[int | None, ...]) -> bool:
    """Whether ranges may overlap: with an end that is no constant they may."""
    if None in (*one, *other):
        return True
    (first, last), (begin, end) = one, other
    return (first or 0) < (end or 0) and (begin or 0) < (last or 0)


def _storage(value: ir.Value) -> ir.Value:
    """The first name of a value's storage within the body."""
    while not isinstance(value.owner, ir.Block):
        results = access_of(value.owner.operation).results
        tied = next((item.tied for item in results if item.value == value), None)
        if tied is None:
            break
        value = value.owner.operands[tied]
    return value


def _segments(dispatch: ir.Operation) -> list[list[ir.Value]]:
    """Workload, operands; sizes, offsets, ends and lengths of those that are resources; sizes of results."""
    rest = list(dispatch.operands)
    found = []
    for count in ir.DenseI32ArrayAttr(dispatch.attributes[_SEGMENTS]):
        found.append(rest[:count])
        rest = rest[count:]
    return found


def _place(dispatch: ir.Operation) -> int:
    """The position of the last of a dispatch's own operands."""
    workload, count, *_ = ir.DenseI32ArrayAttr(dispatch.attributes[_SEGMENTS])
    return int(workload + count) - 1


def _placed_count(op: ir.Operation) -> int:
    """How many results IREE placed: the first, into the last operands, which the function only writes."""
    ties = [result.tied for result in access_of(op).results]
    bindings = sum(map(is_resource, _segments(op)[1]))
    for count in range(len(ties), 0, -1):
        first = _place(op) + 1 - count
        if ties[:count] == list(range(first, first + count)) and all(
            only_writes(op, bindings - 1 - index) for index in range(count)
        ):
            return count
    return 0


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
