"""Inputs, outputs and slabs at their offsets in one arena, or results each in storage of its own.

Firmware has no allocator. With `--io arena` every allocation of the program becomes the arena
itself, so that the offsets of a plan (`whole_arena`) are all that tells storage apart; with
`--io external` each result gets an allocation that its caller can stand in for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import constant_index
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.layout_slices import ALLOCA, Pack, packs, replace_pack, slices_of
from serenity_mlir.dialect_passes.stream.regions import functions
from serenity_mlir.dialect_passes.stream.whole_arena import WholeArena
from serenity_mlir.errors import CheckFailed, SerenityError

_SUBVIEW, _AWAIT, _EXPORT = "stream.resource.subview", "stream.timepoint.await", "stream.tensor.export"


def place_in_arena(module: ir.Operation, arenas: Mapping[str, WholeArena], *, alignment: int) -> None:
    """Make each allocation of the model the whole arena, every slice and result at its planned offset.

    Args:
        module: After `iree-stream-schedule-allocation`, its packs still there.
        arenas: For each function with regions, where everything lies.
        alignment: Of slices; 0 takes the module's own.

    Raises:
        SerenityError: Storage lies between regions: it is neither a slab nor a result.
        CheckFailed: The program holds other storage than was planned.
    """
    for pack in packs(module):
        arena = arenas.get(pack.region.name.rpartition("#")[0])
        if arena is None or pack.region.role != "model":
            continue
        if pack.kind == "slab":
            offsets = _slab_offsets(pack, arena, alignment or alignment_of(pack.op))
        elif pack.kind == "results":
            offsets = [_offset_of_users(arena, result) for result in list(pack.op.results)[1:]]
        else:
            continue
        replace_pack(pack.op, [arena.plan.size, *offsets])
    for name, function in functions(module):
        arena = arenas.get(name)
        if arena is None:
            continue
        for alloca in _allocas(function):
            if constant_index(alloca.operands[0]) != arena.plan.size:
                _widen(alloca, arena.plan.size, arena_offset(arena, _result_names(alloca.results[0])))


def separate_results(module: ir.Operation) -> None:
    """Give each result of the model an allocation of its own, where IREE packed several into one.

    Args:
        module: After `iree-stream-schedule-allocation`, its packs still there.
    """
    for pack in packs(module):
        if pack.kind != "results" or pack.region.role != "model":
            continue
        allocas = [use.owner.operation for use in pack.op.results[0].uses]
        for alloca in [op for op in allocas if op.name == ALLOCA]:
            for view in _users(alloca.results[0], _SUBVIEW):
                own = alloca.clone(ip=ir.InsertionPoint(alloca))
                own.operands[0] = view.operands[3]
                view.results[0].replace_all_uses_with(own.results[0])
                view.erase()


def arena_offset(arena: WholeArena, names: Sequence[str]) -> int:
    """Where the input or output of one of these names lies.

    Raises:
        SerenityError: None of them is in the arena's plan.
    """
    found = [arena.timeline.held[name] for name in names if name in arena.timeline.held]
    if not found:
        raise SerenityError(
            f"{names[0] if names else 'storage that one region hands to another'} is not in the arena's plan",
            hint="--io external plans what callers do not own only",
        )
    return arena.plan.offsets[found[0]]


def _slab_offsets(pack: Pack, arena: WholeArena, alignment: int) -> list[int]:
    """Offsets of a slab's slices; slices of one size and lifetime may stand for one another."""
    base, where = arena.timeline.own[pack.region.name]
    free: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for index in where:
        item = arena.timeline.slices[index]
        free[item.start - base, item.end - base, item.size].append(arena.plan.offsets[index])
    offsets = []
    for item in slices_of(pack.op, alignment) or []:
        places = free[item.start, item.end, item.size]
        if item.size and not places:
            raise CheckFailed(f"a slice of {item.size} bytes of {pack.region.name} has no place in the arena")
        offsets.append(places.pop() if item.size else 0)
    return offsets


def _offset_of_users(arena: WholeArena, offset: ir.Value) -> int:
    """Where the result lies that is a view at `offset`, a result of a pack."""
    names = [name for view in _users(offset, _SUBVIEW) for name in _result_names(view.results[0])]
    return arena_offset(arena, names)


def _widen(alloca: ir.Operation, size: int, offset: int) -> None:
    """Let `alloca` allocate the arena, and what used it use the bytes from `offset` on."""
    storage, own_size = alloca.results[0], alloca.operands[0]
    index = ir.IndexType.get(alloca.context)
    with ir.InsertionPoint(alloca):
        whole, start = (_constant(index, value, alloca.location) for value in (size, offset))
    users = [(use.owner.operation, use.operand_number) for use in storage.uses]
    after = list(alloca.block.operations)[_position(alloca) + 1]
    with ir.InsertionPoint(after):
        view = ir.Operation.create(
            _SUBVIEW,
            results=[storage.type],
            operands=[storage, whole, start, own_size],
            loc=alloca.location,
        )
    for user, number in users:
        if user.name == "stream.resource.dealloca":
            raise SerenityError("transient storage outside of the regions is not in the arena's plan")
        user.operands[number] = view.results[0]
    alloca.operands[0] = whole


def _position(op: ir.Operation) -> int:
    return next(index for index, item in enumerate(op.block.operations) if item.operation == op)


def _constant(index: ir.Type, value: int, location: ir.Location) -> ir.Value:
    attribute = ir.IntegerAttr.get(index, value)
    op = ir.Operation.create("arith.constant", results=[index], attributes={"value": attribute}, loc=location)
    constant: ir.Value = op.results[0]
    return constant


def _result_names(value: ir.Value) -> list[str]:
    """The results of the function that storage leaves it as: `output 0`."""
    names = []
    for use in value.uses:
        op = use.owner.operation
        if op.name == _AWAIT:
            names += _result_names(op.results[use.operand_number - _first_resource(op)])
        elif op.name == _SUBVIEW:
            names += _result_names(op.results[0])
        elif op.name == _EXPORT:
            names += [
                f"output {item.operand_number}"
                for item in op.results[0].uses
                if item.owner.operation.name.endswith("return")
            ]
    return names


def _first_resource(op: ir.Operation) -> int:
    return next(n for n, value in enumerate(op.operands) if str(value.type).startswith("!stream.resource"))


def _users(value: ir.Value, name: str) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses if use.owner.operation.name == name]


def _allocas(function: ir.Operation) -> Iterator[ir.Operation]:
    found: list[ir.Operation] = []

    def collect(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name == ALLOCA:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(collect)
    return iter(found)
