"""Figures of one arena that holds inputs and outputs too (`--io arena`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.layout_slices import packs, slices_of
from serenity_mlir.dialect_passes.stream.regions import functions
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.dialect_passes.stream.whole_arena import Timeline, WholeArena, plan_whole, timeline
from serenity_mlir.report import Footprint


@dataclass(frozen=True, slots=True)
class WholeFootprint:
    """The whole arena of the function that needs the most.

    Attributes:
        file_order: Before scheduling.
        final: After it.
        bound: Bytes that no order of the function's regions goes below.
        arena: Where everything lies.
        arenas: The arena of every function that has regions, by its symbol.
        file_arenas: The same before scheduling.
    """

    file_order: Footprint
    final: Footprint
    bound: int
    arena: WholeArena
    arenas: Mapping[str, WholeArena] = field(default_factory=dict)
    file_arenas: Mapping[str, WholeArena] = field(default_factory=dict)


def whole_footprint(
    schedules: Sequence[RegionSchedule], module: ir.Operation, *, alignment: int, time_limit: float
) -> WholeFootprint | None:
    """Plan one arena for each function of the model, and take the largest.

    Args:
        schedules: Of a module that was scheduled with `io=arena`.
        module: That module after `iree-stream-schedule-allocation`, its packs still there.
        alignment: Of slices; 0 takes the module's own.
        time_limit: Seconds for all packings together.

    Returns:
        None where some function has no such arena, or IREE's slices are not those that were scheduled.
    """
    model = [item for item in schedules if item.role == "model"]
    groups = [list(items) for _, items in groupby(model, key=lambda item: item.region.rpartition("#")[0])]
    if not groups:
        return None
    found, file_arenas = [], []
    for items in groups:
        after, before = timeline(items), timeline(items, file_order=True)
        if after is None or before is None or not _is_packed(after, module, alignment):
            return None
        share = time_limit / len(groups) / 2
        aligned = alignment or _alignment(items[0].region, module)
        arena = plan_whole(after, alignment=aligned, time_limit=share)
        file_arena = plan_whole(before, alignment=aligned, time_limit=share)
        file_arenas.append(file_arena)
        bounds = [item.schedule.lower_bound for item in items if item.schedule is not None]
        found.append(
            WholeFootprint(
                file_order=Footprint(before.peak, file_arena.plan.size),
                final=Footprint(after.peak, arena.plan.size),
                bound=max(bounds),
                arena=arena,
            )
        )
    largest = max(found, key=lambda item: item.final.arena or 0)
    names = [items[0].region.rpartition("#")[0] for items in groups]
    return replace(
        largest,
        arenas={name: item.arena for name, item in zip(names, found, strict=True)},
        file_arenas=dict(zip(names, file_arenas, strict=True)),
    )


def _alignment(name: str, module: ir.Operation) -> int:
    """Of the function that a region is in."""
    return next(alignment_of(op) for function, op in functions(module) if function == name.rpartition("#")[0])


def _is_packed(found: Timeline, module: ir.Operation, alignment: int) -> bool:
    """Whether IREE's packs list the slices of the timeline's regions."""
    listed: dict[str, Counter[tuple[int, int, int]]] = {name: Counter() for name in found.own}
    for pack in packs(module):
        if pack.kind == "slab" and pack.region.name in listed:
            slices = slices_of(pack.op, alignment or alignment_of(pack.op))
            if slices is None:
                return False
            listed[pack.region.name].update((s.start, s.end, s.size) for s in slices if s.size)
    return all(
        listed[name] == Counter({(s.start, s.end, s.size): n for s, n in own.items() if s.size})
        for name, own in ((name, found.own_slices(name)) for name in found.own)
    )
