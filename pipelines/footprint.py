"""Peak and arena of a program whose slices are still listed by `stream.resource.pack`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from serenity_mlir.arena import plan
from serenity_mlir.arena.iree_layout import PackSlice, iree_layout
from serenity_mlir.arena.result import ArenaPlan
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.layout_slices import RegionPlan, packs, slices_of
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.dialect_passes.stream.slab import allocations, slab
from serenity_mlir.dialect_passes.stream.whole_arena import WholeArena
from serenity_mlir.liveness import Slice, live_bytes
from serenity_mlir.report import Footprint
from serenity_mlir.time_shares import time_shares
from serenity_mlir.timeline import Source


@dataclass(frozen=True)
class Layout:
    """One order of the ops of all regions, and where their storage lies.

    Attributes:
        sources: For each region what its ops came from, in that order.
        plans: Of each region's slab.
        arenas: Of each function, with inputs and outputs in it; empty where they do not count.
    """

    sources: Mapping[str, tuple[Source, ...]]
    plans: Sequence[RegionPlan]
    arenas: Mapping[str, WholeArena] = field(default_factory=dict)


def footprint(
    module: ir.Operation, alignment: int, *, ours: bool, time_limit: float = 0.0
) -> tuple[Footprint, Counter[int] | None, list[RegionPlan]]:
    """Peak and arena, allocations, and plans of a module with packs in it.

    Args:
        module: After `iree-stream-schedule-allocation`.
        alignment: Of slices, in bytes; 0 takes the module's own.
        ours: By our planner, or else by IREE's.
        time_limit: Seconds for all packs together.
    """
    plans: list[RegionPlan] = []
    found = packs(module)
    shares = time_shares([len(item.op.results) for item in found], time_limit)
    for item, share in zip(found, shares, strict=True):
        region = item.region
        aligned = alignment or alignment_of(item.op)
        slices = slices_of(item.op, aligned)
        if slices is None:
            plans.append(RegionPlan(region.name, region.role, item.kind, (), None, 0))
            continue
        laid = plan(slices, alignment=aligned, time_limit=share) if ours else _iree_plan(slices, aligned)
        plans.append(RegionPlan(region.name, region.role, item.kind, tuple(slices), laid, live_peak(slices)))
    listed = list(zip([item.op for item in found], plans, strict=True))
    arenas = {op: None if laid.plan is None else laid.plan.size for op, laid in listed}
    peaks = {op: None if laid.plan is None else laid.peak for op, laid in listed}
    size = Footprint(slab(module, peaks).model, slab(module, arenas).model)
    return size, allocations(module, arenas), plans


def _iree_plan(slices: Sequence[Slice], alignment: int) -> ArenaPlan:
    listed = [PackSlice(item.start, item.end - 1, item.size) for item in slices]
    return iree_layout(listed, offset_alignment=alignment, range_alignment=alignment)


def bound(module: ir.Operation, schedules: Sequence[RegionSchedule], alignment: int) -> int | None:
    """Transient bytes of the module if each region needed no more than its proven bound."""
    bounds = {item.region: item.schedule.lower_bound if item.schedule else None for item in schedules}
    sizes: dict[ir.Operation, int | None] = {}
    for pack in packs(module):
        slices = slices_of(pack.op, alignment or alignment_of(pack.op))
        whole = None if slices is None else live_peak(slices)
        sizes[pack.op] = bounds[pack.region.name] if pack.kind == "slab" else whole
    return slab(module, sizes).model


def live_peak(slices: Sequence[Slice]) -> int:
    """The most bytes live at once."""
    return max(live_bytes(slices, max((item.end for item in slices), default=0)), default=0)
