"""Parts of tensors along one dimension: what they are computed of, and computing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.flow.interior import interior_of
from serenity_mlir.dialect_passes.linalg.quantization import producer
from serenity_mlir.dialect_passes.linalg.slicing import CARRIERS, Part, resized, slice_value, source_dim
from serenity_mlir.dialect_passes.linalg.structured import Structured, on_operands, structured
from serenity_mlir.dialect_passes.mlir import ir

_PAD, _EXPAND = "tensor.pad", "tensor.expand_shape"


class NoStripesError(ValueError):
    """What is asked for cannot be computed in parts."""


def reads(
    value: ir.Value, part: Part, ops: frozenset[ir.Operation]
) -> Iterator[tuple[ir.Value, Part | None]]:
    """What a part of a value is computed of that none of `ops` makes; None stands for all of a value.

    Raises:
        NoStripesError: One of `ops` cannot be computed in such parts.
    """
    op = producer(value)
    if op is None or op not in ops:
        yield value, part
        return
    for operand, needed in zip(op.operands, _needed(op, part), strict=True):
        if needed is None:
            yield operand, None
        else:
            yield from reads(operand, needed, ops)


def _needed(op: ir.Operation, part: Part) -> list[Part | None]:
    if op.name == _PAD:
        return [inner_part(op, part)[1]]
    if op.name in CARRIERS:
        return [_carried_part(op, part)]
    item = structured(op)
    loop = None if item is None else item.loop_at(len(item.maps) - 1, part.dim)
    if item is None or loop is None:
        raise NoStripesError(op.name)
    return iterated(item, loop, part)


def iterated(op: Structured, loop: int, part: Part) -> list[Part | None]:
    """The part of each operand that the iterations `part` of a loop read or write; None for all of it.

    Raises:
        NoStripesError: That is no one interval along one dimension, or the body computes with the position.
    """
    if op.reads_index(loop):
        raise NoStripesError("computes with the position")
    return [_operand_part(op, index, loop, part) for index in range(len(op.maps))]


def _operand_part(op: Structured, operand: int, loop: int, part: Part) -> Part | None:
    found = None
    for dim in range(len(op.maps[operand])):
        steps = op.steps(operand, dim)
        if steps is None:
            raise NoStripesError("an index is no sum of loops")
        if loop not in steps:
            continue
        if found is not None:
            raise NoStripesError("a loop indexes two dimensions")
        span = 1 + steps[loop] * (part.size - 1)
        for other, step in steps.items():
            span += 0 if other == loop else step * ((op.extent(other) or 1) - 1)
        found = Part(dim, steps[loop] * part.offset, span)
    return found


def inner_part(pad: ir.Operation, part: Part) -> tuple[int, Part, int]:
    """A part of a pad by constants: the padding before, the part of what is padded, the padding after it.

    Raises:
        NoStripesError: All of the part is padding.
    """
    box = interior_of(pad)
    start = part.offset - box.offsets[part.dim]
    end, size = start + part.size, box.sizes[part.dim]
    first, last = max(start, 0), min(end, size)
    if first >= last:
        raise NoStripesError("all padding")
    return first - start, Part(part.dim, first, last - first), end - last


def _carried_part(op: ir.Operation, part: Part) -> Part:
    source = source_dim(op, part.dim)
    if isinstance(source, str) or part.offset % source.down or part.size % source.down:
        raise NoStripesError(op.name)
    offset, size = (count * source.up // source.down for count in (part.offset, part.size))
    return Part(source.dim, offset, size)


@dataclass
class Striper:
    """Computes ops on parts of their results.

    Attributes:
        ops: What is computed on parts; anything else is read where it is.
        before: New ops go right before it.
        instead: What to read instead of a value that none of `ops` makes.
    """

    ops: frozenset[ir.Operation]
    before: ir.Operation
    instead: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _made: dict[tuple[ir.Value, Part], ir.Value] = field(default_factory=dict)

    def part_of(self, value: ir.Value, part: Part) -> ir.Value:
        """A part of a value for which `reads` raises nothing."""
        op = producer(value)
        if op is None or op not in self.ops:
            return slice_value(self.instead.get(value, value), part, self.before)
        if (value, part) not in self._made:
            self._made[value, part] = self._computed(op, part)
        return self._made[value, part]

    def pad(self, value: ir.Value, part: Part) -> None:
        """Make what a part of a value needs of padded tensors, and nothing else yet."""
        op = producer(value)
        if op is None or op not in self.ops:
            return
        if op.name == _PAD:
            self.part_of(value, part)
            return
        for operand, needed in zip(op.operands, _needed(op, part), strict=True):
            if needed is not None:
                self.pad(operand, needed)

    def copies(self, op: ir.Operation) -> list[ir.Operation]:
        """What an op became, on each of its parts."""
        return [made.owner.operation for (value, _), made in self._made.items() if value == op.results[0]]

    def on_parts(self, op: Structured, needed: list[Part | None], total: ir.Value | None = None) -> ir.Value:
        """An op on parts of its operands, of which `total` is the last instead if it is given."""
        operands = [
            value if part is None else self.part_of(value, part)
            for value, part in zip(op.op.operands, needed, strict=True)
        ]
        return on_operands(op, operands if total is None else [*operands[:-1], total], self.before)

    def _computed(self, op: ir.Operation, part: Part) -> ir.Value:
        needed = _needed(op, part)
        item = structured(op)
        if item is not None:
            return self.on_parts(item, needed)
        (inner,) = needed
        if inner is None:
            raise NoStripesError(op.name)
        taken = self.part_of(op.operands[0], inner)
        made = op.clone(ip=ir.InsertionPoint(self.before))
        made.operands[0] = taken
        kind = resized(op.results[0].type, part)
        if op.name == _EXPAND:
            made.attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(kind.shape)
        if op.name == _PAD:
            low, _, high = inner_part(op, part)
            for name, count in (("static_low", low), ("static_high", high)):
                counts = list(ir.DenseI64ArrayAttr(op.attributes[name]))
                counts[part.dim] = count
                made.attributes[name] = ir.DenseI64ArrayAttr.get(counts)
        made.results[0].set_type(kind)
        return made.results[0]
