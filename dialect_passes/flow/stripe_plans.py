"""What can be computed in stripes: a reduction with its padding, or with the reduction that feeds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from serenity_mlir.dialect_passes.flow.interior import interior_of
from serenity_mlir.dialect_passes.flow.slices import (
    FREE,
    Slice,
    is_callers,
    is_elementwise,
    pads_constant,
    read_by,
    stored,
    whole_slice,
)
from serenity_mlir.dialect_passes.flow.stripes import NoStripesError, iterated, reads
from serenity_mlir.dialect_passes.linalg.quantization import producer, users
from serenity_mlir.dialect_passes.linalg.reach import of_constants
from serenity_mlir.dialect_passes.linalg.slicing import CARRIERS, Part
from serenity_mlir.dialect_passes.linalg.structured import Structured, structured
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

Ops = frozenset[ir.Operation]


@dataclass(frozen=True, slots=True)
class StripePlan:
    """What is computed in stripes.

    Attributes:
        slices: Reductions with what narrows their results, the last one first.
        ops: All that is computed on parts.
        units: How many equal pieces a stripe may be made of.
        unit: The length of one, along `dim` or in iterations of `loop`.
        dim: The dimension of the last result that has the stripes; None where they are summed.
        loop: The loop of the last reduction that is summed over stripe by stripe, if so.
        over: The value whose place the result takes, part by part; None where it has one of its own.
        halo: How far before a part of the result what it is computed of begins, in the place that it takes.
    """

    slices: tuple[Slice, ...]
    ops: Ops
    units: int
    unit: int = 1
    dim: int | None = None
    loop: int | None = None
    over: ir.Value | None = None
    halo: int = 0

    def parts(self, about: int) -> list[Part]:
        """About so many stripes: up to half as many more or fewer, if those are equal, for one code."""
        count = min(about, self.units)
        even = [number for number in range(count // 2 + 1, count * 3 // 2 + 1) if self.units % number == 0]
        size = -(-self.units // min(even, key=lambda number: abs(number - count), default=count)) * self.unit
        length = self.units * self.unit
        along = -1 if self.dim is None else self.dim
        return [Part(along, start, min(size, length - start)) for start in range(0, length, size)]


def stripe_plan(found: Slice) -> StripePlan | None:
    """A reduction alone, so that its padded operand is never stored as a whole, or that it overwrites one.

    Rather along a dimension in which no window slides: no part is read twice then.
    """
    ops = _computed(found)
    padded = any(op.name == "tensor.pad" for op in ops)
    sliding = None
    for dim, extent in _dims(found):
        data = _data(found, ops, dim)
        if data is None or not all(part is not None for _, part in data):
            continue
        if _no_window(data):
            over = _overwritten(found, ops, dim)
            if padded or over is not None:
                return StripePlan((found,), ops, extent, dim=dim, over=over)
        elif padded and sliding is None:
            over, halo = _overwritten_behind(found, ops, dim) or (None, 0)
            sliding = StripePlan((found,), ops, extent, dim=dim, over=over, halo=halo)
    return sliding


def cascade_plan(found: Slice) -> StripePlan | None:
    """A reduction with the one that feeds it, whose result is never stored as a whole, nor computed twice.

    What feeds that one and the result are both there meanwhile: not where what lies between is smaller.
    """
    for dim, extent in _dims(found):
        ops = _computed(found)
        data = _data(found, ops, dim)
        if not data or not _no_window(data):
            continue
        values = dict.fromkeys(value for value, _ in data)  # one may be read twice
        feeding = [made for value in values if (made := _made_by(value, ops)) is not None]
        every = ops.union(*(_computed(made) for made in feeding))
        source = _data(found, every, dim)
        between = sum(stored(made.last) for made in feeding)
        if feeding and source is not None and between > min(stored(found.last), _held(source)):
            return StripePlan((found, *feeding), every, extent, dim=dim)
    return None


def accumulation_plan(found: Slice) -> StripePlan | None:
    """A sum of integers with the reduction that feeds it, whose result is never stored as a whole.

    Only where less is summed up than is read.
    """
    root = found.root
    item = structured(root)
    if item is None or item.sum_op != "arith.addi":
        return None
    ops = _with_moved([root])
    for loop in filter(item.is_reduction, range(item.loops)):
        extent = item.extent(loop)
        for made in dict.fromkeys(_feeding(item, ops)) if extent else ():
            every = ops | _computed(made)
            units = _pieces(item, loop, every, extent or 1, made)
            if units and stored(root) < stored(made.last):
                return StripePlan((found, made), every, units, (extent or 1) // units, loop=loop)
    return None


def _dims(found: Slice) -> Iterator[tuple[int, int]]:
    shape = ir.RankedTensorType(found.last.results[0].type).shape
    return ((dim, extent) for dim, extent in enumerate(shape) if extent > 1)


def _computed(found: Slice) -> Ops:
    """What is computed with a reduction on parts."""
    return _with_moved([op for op in found.ops if op.name not in FREE])


def _with_moved(ops: list[ir.Operation]) -> Ops:
    """Also padding, and what carries or widens operands, where nothing else reads it."""
    for op in ops:
        for value in op.operands:
            made = producer(value)
            if made is None or made in ops or made.block != op.block or not _is_moved(made):
                continue
            if all(user in ops for user in users(made)):
                ops.append(made)
    return frozenset(ops)


def _is_moved(op: ir.Operation) -> bool:
    if of_constants(op):
        return False
    if op.name == "tensor.pad":
        return pads_constant(op)
    return op.name in CARRIERS or (is_elementwise(op) and read_by(op) < stored(op))


def _data(found: Slice, ops: Ops, dim: int, at: int = 1) -> list[tuple[ir.Value, Part | None]] | None:
    """What one element along a dimension is computed of, constants apart; None if it cannot be.

    Nor where one at an end is of padding alone: IREE would compute that when the program is loaded.
    """
    value = found.last.results[0]
    last = ir.RankedTensorType(value.type).shape[dim] - 1
    try:
        for end in (0, last):
            list(reads(value, Part(dim, end, 1), ops))
        return _varying(reads(value, Part(dim, at, 1), ops))
    except NoStripesError:
        return None


def _varying(taken: Iterator[tuple[ir.Value, Part | None]]) -> list[tuple[ir.Value, Part | None]]:
    found = [(value, part, producer(value)) for value, part in taken]
    return [(value, part) for value, part, made in found if made is None or not of_constants(made)]


def _held(data: list[tuple[ir.Value, Part | None]]) -> int:
    """Bytes of the values that are no caller's."""
    made = {value: producer(value) for value, _ in data}
    return sum(
        tensor_bytes(value.type) or 0 for value, op in made.items() if op is not None and not is_callers(op)
    )


def _no_window(data: list[tuple[ir.Value, Part | None]]) -> bool:
    return all(part is not None and part.size == 1 for _, part in data)


def _overwritten(found: Slice, ops: Ops, dim: int) -> ir.Value | None:
    """A value that nothing else reads, each part of which only the same part of the result is made of."""
    data = _data(found, ops, dim) or []
    for value in _dying(found, ops, data):
        if all(part == Part(dim, 1, 1) for other, part in data if other == value):
            return value
    return None


def _overwritten_behind(found: Slice, ops: Ops, dim: int) -> tuple[ir.Value, int] | None:
    """A value that only padding reads, copied before it is overwritten, and how far back windows reach."""
    middle = ir.RankedTensorType(found.last.results[0].type).shape[dim] // 2
    taken = [_data(found, ops, dim, at) or [] for at in (middle, middle + 1)]
    for value in _dying(found, ops, taken[0]):
        one, two = ([part for other, part in data if other == value] for data in taken)
        made = producer(value)
        copied = made is not None and all(_always_pads(user, dim) for user in users(made))
        if not copied or len(one) != 1 or len(two) != 1 or one[0] is None or two[0] is None:
            continue
        back = middle - one[0].offset
        if one[0].dim == dim and two[0] == Part(dim, one[0].offset + 1, one[0].size) and back >= 0:
            return value, back
    return None


def _always_pads(op: ir.Operation, dim: int) -> bool:
    """Whether an op is a pad of which each part along a dimension is one, so that it is a copy."""
    if not pads_constant(op):
        return False
    box, shape = interior_of(op), ir.RankedTensorType(op.results[0].type).shape
    return any(box.sizes[other] < size for other, size in enumerate(shape) if other != dim)


def _dying(found: Slice, ops: Ops, data: list[tuple[ir.Value, Part | None]]) -> Iterator[ir.Value]:
    """Values of the result's type that nothing but `ops` reads, and that are no caller's."""
    for value in dict.fromkeys(value for value, _ in data):
        made = producer(value)
        if (
            made is not None
            and made.block == found.last.block
            and not is_callers(made)
            and value.type == found.last.results[0].type
            and all(user in ops for user in users(made))
        ):
            yield value


def _made_by(value: ir.Value, ops: Ops) -> Slice | None:
    """The reduction of the same block that ends in a value which only `ops` read."""
    end = producer(value)
    if end is None or not all(user in ops and user.block == end.block for user in users(end)):
        return None
    op: ir.Operation | None = end
    while op is not None:
        found = whole_slice(op)
        if found is not None:
            return found if found.last == end else None
        if not is_elementwise(op):
            return None
        varying = [made for made in map(producer, op.operands) if made is not None and not of_constants(made)]
        op = varying[0] if len(varying) == 1 and varying[0].block == end.block else None
    return None


def _feeding(item: Structured, ops: Ops) -> Iterator[Slice]:
    """Reductions that end in what some of `ops` reads."""
    for value in chain.from_iterable(op.operands for op in (item.op, *ops)):
        made = producer(value)
        if made is not None and made not in ops and (found := _made_by(value, ops)) is not None:
            yield found


def _pieces(item: Structured, loop: int, ops: Ops, extent: int, made: Slice) -> int | None:
    """Into how many equal pieces a loop can be cut, each of a part of what feeds it, and none twice."""
    shape: list[int] = list(ir.RankedTensorType(made.last.results[0].type).shape)
    for units in sorted({size for size in shape if size > 1 and extent % size == 0}, reverse=True):
        size = extent // units
        try:
            for start in (0, extent - size, size):
                needed = iterated(item, loop, Part(-1, start, size))[:-1]
                pairs = [(value, part) for value, part in zip(item.op.operands, needed, strict=False) if part]
                for value, part in pairs:
                    list(reads(value, part, ops))
        except NoStripesError:
            continue
        if all(part.size == size for _, part in pairs):
            return units
    return None
