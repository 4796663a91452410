"""`serenity-update-in-place`: a result takes the place of an operand in the interior of its padded tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.flow.form_dispatch_regions import REGION
from serenity_mlir.dialect_passes.flow.interior import Box, box_of, interior_of, put_into, taken_from
from serenity_mlir.dialect_passes.flow.slices import is_callers, pads_constant
from serenity_mlir.dialect_passes.linalg.quantization import erase_dead, producer, users
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.linalg.structured import structured
from serenity_mlir.dialect_passes.linalg.tensor_ops import padding
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

PATTERN = "update-in-place"


@dataclass(frozen=True)
class UpdateInPlacePass(Pass[list[str]]):
    """Stores the result of a dispatch over the operand that it reads element by element.

    The operand lies in the interior of a padded tensor that nothing reads later: a residual sum
    takes the place of one of its summands, and the padding around it serves once more. Belongs
    after `serenity-form-dispatch-regions`. Bit-exact.
    """

    name: ClassVar[str] = "serenity-update-in-place"

    def apply(self, module: ir.Operation) -> list[str]:
        """Rewrite every place that fits; returns the keys of the sites."""
        return apply_sites(module, find)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a region's result can go.

    Attributes:
        whole: The padded tensor.
        box: The part of it that the region reads.
        value: What the region computes, of that part's size.
        around: Where the region puts it into a filled tensor now; None where it yields it.
    """

    whole: ir.Value
    box: Box
    value: ir.Value
    around: ir.Operation | None


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Regions that read a part of a tensor as large as what they compute."""
    for region in nested_ops(module):
        if region.name != REGION or len(region.results) != 1:
            continue
        reasons = [_why_not(region, place) for place in _places(region)]
        if None in reasons:
            yield _site(region)
        else:
            yield from (Refusal(PATTERN, region, reason) for reason in reasons[:1] if reason)


def _site(region: ir.Operation) -> Site:
    def apply() -> None:
        fitting = (place for place in _places(region) if _why_not(region, place) is None)
        if (place := next(fitting, None)) is not None:
            _update(region, place)

    return Site(PATTERN, region, exact=True, apply=apply)


def _places(region: ir.Operation) -> Iterator[_Place]:
    block = region.regions[0].blocks[0]
    inside = [op.operation for op in block.operations]
    value, around = inside[-1].operands[0], None
    last = producer(value)
    if last is not None and last.name == "tensor.insert_slice":
        value, around = last.operands[0], last
    for op in inside:
        if op.name == "tensor.extract_slice" and op.results[0].type == value.type:
            box, made = box_of(op), producer(op.operands[0])
            if box is None or made is None or is_callers(made):
                continue
            if made.block == region.block:
                yield _Place(op.operands[0], box, value, around)


def _why_not(region: ir.Operation, place: _Place) -> str | None:
    made = producer(place.whole)
    readers = [user for user in _users(place.whole, region.block) if user[0] == region]
    if made is None or len(readers) != 1:
        return "reads the operand in more than one way"
    if not _read_in_place(readers[0][1], place.value):
        return "reads the operand at other positions than it writes"
    order = {op.operation: step for step, op in enumerate(region.block.operations)}
    if any(order[user] > order[region] for user, _ in _users(place.whole, region.block)):
        return "the operand is read later"
    if place.around is not None:
        level = _level_around(made)
        filled = producer(place.around.operands[1])
        if (
            filled is None
            or filled.name != "linalg.fill"
            or level is None
            or level != _constant(filled.operands[0])
        ):
            return "what is around the result differs from what is around the operand"
        if _shifted(place, _around(place)) is None:
            return "more is around the result than around the operand"
    return None


def _around(place: _Place) -> Box:
    """Where the result lies in the filled tensor that it is put into."""
    if place.around is None or (box := box_of(place.around)) is None:
        raise ValueError("is not put into a tensor")
    return Box(box.offsets, tuple(ir.RankedTensorType(place.around.results[0].type).shape))


def _users(value: ir.Value, block: ir.Block) -> list[tuple[ir.Operation, ir.Operation]]:
    """The users of a value, each after the op of `block` that it is or is in."""
    found = []
    for use in value.uses:
        op = outer = use.owner.operation
        while outer.block != block:
            outer = outer.parent.operation
        found.append((outer, op))
    return found


def _read_in_place(reader: ir.Operation, value: ir.Value) -> bool:
    """Whether all that is computed of what `reader` makes, up to `value`, keeps each element's position."""
    waiting, seen = [reader.results[0]], set()
    while waiting:
        part = waiting.pop()
        if part == value:
            continue
        for op in users(part.owner):
            if not _keeps_positions(op, part):
                return False
            if op not in seen:
                seen.add(op)
                waiting.append(op.results[0])
    return True


def _keeps_positions(op: ir.Operation, operand: ir.Value) -> bool:
    found = structured(op)
    if found is None or not found.elementwise:
        return False
    written = found.maps[-1]
    read = [found.maps[index] for index, value in enumerate(op.operands) if value == operand]
    dims = [found.loop_at(len(found.maps) - 1, dim) for dim in range(len(written))]
    return dims == list(range(found.loops)) and all(item == written for item in read)


def _level_around(made: ir.Operation) -> ir.Attribute | None:
    """The constant that surrounds the interior of a padded tensor; None where it is not known to be one."""
    if pads_constant(made):
        return _constant(padding(made))
    if made.name != REGION:
        return None
    block = made.regions[0].blocks[0]
    inserted = producer(block.operations[len(block.operations) - 1].operands[0])
    if inserted is None or inserted.name != "tensor.insert_slice":
        return None
    whole = producer(inserted.operands[1])
    if whole is not None and whole.name == "linalg.fill":
        return _constant(whole.operands[0])
    return None if whole is None else _level_around(whole)


def _constant(value: ir.Value) -> ir.Attribute | None:
    made = producer(value)
    return made.attributes["value"] if made is not None and made.name == "arith.constant" else None


def _shifted(place: _Place, around: Box) -> Box | None:
    """The part of the whole in which the result lies at `around`; None where that sticks out."""
    offsets = tuple(at - low for at, low in zip(place.box.offsets, around.offsets, strict=True))
    shape = ir.RankedTensorType(place.whole.type).shape
    fits = all(
        at >= 0 and at + size <= limit for at, size, limit in zip(offsets, around.sizes, shape, strict=True)
    )
    return Box(offsets, around.sizes) if fits else None


def _update(region: ir.Operation, place: _Place) -> None:
    result = region.results[0]
    level = _level_around(place.whole.owner)
    uses = [(use.owner.operation, use.operand_number) for use in result.uses]
    block = region.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1].operation
    with ir.InsertionPoint(end), region.location:
        end.operands[0] = put_into(place.whole, place.value, place.box)
    part = place.box if place.around is None else _shifted(place, _around(place))
    if place.around is not None:
        erase_dead(place.around)
    result.set_type(place.whole.type)
    for user, index in uses:
        box = part
        if pads_constant(user) and place.around is None and _constant(padding(user)) == level:
            low = interior_of(user)
            box = _shifted(place, Box(low.offsets, tuple(ir.RankedTensorType(user.results[0].type).shape)))
        with ir.InsertionPoint.after(region), region.location:
            if box is None or box is part:
                user.operands[index] = _taken(result, part)
            else:
                user.results[0].replace_all_uses_with(_taken(result, box))
                user.erase()


def _taken(whole: ir.Value, box: Box | None) -> ir.Value:
    if box is None:
        raise ValueError("sticks out")
    return whole if list(box.sizes) == ir.RankedTensorType(whole.type).shape else taken_from(whole, box)
