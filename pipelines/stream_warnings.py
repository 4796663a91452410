"""Why the figures of phase `stream` are not proven."""

from __future__ import annotations

from serenity_mlir.dialect_passes.stream.layout_slices import RegionPlan
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.liveness import live_bytes, live_ranges
from serenity_mlir.sizes import counted, size_text


def stream_warnings(schedules: list[RegionSchedule], plans: list[RegionPlan], unchecked: int) -> list[str]:
    """What a reader of the figures must know, a sentence each.

    Args:
        schedules: One a region.
        plans: One a region with slices.
        unchecked: Regions of the module that the check of orders did not follow.
    """
    out = [
        f"region {item.region} is in its own order: {item.left_alone}"
        for item in schedules
        if item.left_alone
    ]
    moved = [
        item
        for item in schedules
        if item.schedule and item.graph and (item.original or item.graph.file_order != item.schedule.order)
    ]
    if unchecked and moved:
        out.append(
            f"the check of orders does not follow calls and collectives, and {unchecked} of "
            f"{counted(len(schedules), 'region')} {'has' if unchecked == 1 else 'have'} them: that the new "
            "order computes the same rests on the scheduler alone there"
        )
    peaks = {item.name: item.peak for item in plans if item.plan is not None and item.kind == "slab"}
    for item in schedules:
        packed = peaks.get(item.region)
        own = _own_peak(item)
        if own is not None and packed is not None and packed != own:
            out.append(
                f"region {item.region}: the schedule was chosen for a peak of {size_text(own)}, "
                f"but IREE packs {size_text(packed)}: the order is legal, its optimality is not proven"
            )
    return out


def _own_peak(item: RegionSchedule) -> int | None:
    """The peak of a region's own storage."""
    if item.schedule is None or item.graph is None:
        return None
    ranges = live_ranges(item.graph, item.schedule.order)
    own = ranges[: len(ranges) - len(item.held or ())]
    return max(live_bytes(own, len(item.schedule.order)), default=0)
