"""Which bytes of its resources an op reads and writes, and storage whose updates need no fixed order.

IREE's `getAsyncAccessRanges` says the same: an op touches the range that is given with an
operand, a dispatch through a tie included, and all of a resource that comes without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import Access, constant_index, is_resource

# Op → (operand, operands that hold the first byte and the one after the last); other resources are
# touched as a whole.
_RANGES = {
    "stream.async.update": ((0, 2, 3),),
    "stream.async.fill": ((0, 2, 3),),
    "stream.async.copy": ((0, 2, 3), (4, 6, 7)),
    "stream.async.slice": ((0, 2, 3),),
}
_DISPATCH = "stream.async.dispatch"


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes `start <= byte < end` that an op touches; None where they are not known.

    Attributes:
        value: The resource, by the name that it has before the op.
        writes: Whether the op changes them.
    """

    value: ir.Value
    start: int | None
    end: int | None
    writes: bool

    def overlaps(self, other: Span) -> bool:
        """Whether the two may have a byte in common, were they of one storage."""
        if self.start is None or self.end is None or other.start is None or other.end is None:
            return True
        return self.start < other.end and other.start < self.end

    def conflicts(self, other: Span) -> bool:
        """Whether the order of the two matters."""
        return (self.writes or other.writes) and self.overlaps(other)


def spans_of(op: ir.Operation, access: Access) -> list[Span]:
    """What `op` touches: its resource operands, then what it makes, as a whole."""
    tied = {result.tied for result in access.results}
    ranges = dict(_ranges(op))
    out = []
    for index, operand in enumerate(op.operands):
        if is_resource(operand):
            start, end = ranges.get(index, (None, None))
            out.append(Span(operand, start, end, writes=index in tied or access.barrier))
    out.extend(Span(result.value, None, None, True) for result in access.results if result.tied is None)
    return out


def _ranges(op: ir.Operation) -> Iterator[tuple[int, tuple[int | None, int | None]]]:
    """Operands that have a range of their own, with it."""
    operands = list(op.operands)
    for index, start, end in _RANGES.get(op.name, ()):
        yield index, (constant_index(operands[start]), constant_index(operands[end]))
    if op.name != _DISPATCH:
        return
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    offsets, ends = sum(segments[:3]), sum(segments[:4])
    passed = range(segments[0], segments[0] + segments[1])  # scalars among them have no range
    for number, index in enumerate(item for item in passed if is_resource(operands[item])):
        yield index, (constant_index(operands[offsets + number]), constant_index(operands[ends + number]))


def rechainable(
    ops: Sequence[ir.Operation],
    accesses: Sequence[Access],
    terminator: ir.Operation,
    root: Callable[[ir.Value], int],
    captured: Iterable[int],
) -> frozenset[int]:
    """Roots of storage with in-place writes that are provably disjoint, so that their order is free.

    Whatever is not plain is left out: storage that comes from outside or from two ops, that a
    barrier touches, that one op ties twice, or that leaves the body by any name but its last.

    Args:
        ops: The body's ops in program order.
        accesses: What they touch.
        terminator: What ends the body.
        root: The storage that a value lives in.
        captured: Roots of storage from outside.
    """
    origins: dict[int, int] = {}
    last: dict[int, ir.Value] = {}
    written: dict[int, list[Span]] = {}
    odd = set(captured)
    for op, access in zip(ops, accesses, strict=True):
        made = [root(result.value) for result in access.results]
        odd.update(item for item in made if made.count(item) > 1)
        for item, result in zip(made, access.results, strict=True):
            odd.update([item] if item in last and last[item].type != result.value.type else [])
            last[item] = result.value
            origins[item] = origins.get(item, 0) + (result.tied is None)
        for span in spans_of(op, access):
            if access.barrier:
                odd.add(root(span.value))
            elif span.writes:
                written.setdefault(root(span.value), []).append(span)
    for value in terminator.operands:
        if is_resource(value) and value != last.get(root(value)):
            odd.add(root(value))
    return frozenset(
        item
        for item, spans in written.items()
        if item not in odd
        and origins.get(item) == 1
        and any(not one.overlaps(other) for one, other in combinations(spans, 2))
    )


class SpanOrder:
    """Which earlier ops must stay before an op, for one storage, by the bytes that they touch."""

    def __init__(self) -> None:
        self._earlier: list[tuple[int, Span]] = []

    def add(self, index: int, spans: Sequence[Span]) -> set[int]:
        """Note that op `index` touches `spans`; the ops that it must follow.

        Those that another one in between follows already may be left out.
        """
        preds = {
            earlier for earlier, before in self._earlier if any(span.conflicts(before) for span in spans)
        }
        covered = [span for span in spans if span.writes]
        self._earlier = [
            item for item in self._earlier if not any(_covers(span, item[1]) for span in covered)
        ] + [(index, span) for span in spans]
        return preds


def _covers(span: Span, other: Span) -> bool:
    """Whether whatever conflicts with `other` conflicts with the write `span` too."""
    if span.start is None or span.end is None:
        return True
    if other.start is None or other.end is None:
        return False
    return span.start <= other.start and other.end <= span.end
