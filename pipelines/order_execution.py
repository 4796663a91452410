"""Scheduling of execution regions, and the rewrites that allow a better order where it takes less memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.displace_results import DisplaceResultsPass
from serenity_mlir.dialect_passes.stream.rechain_updates import RechainUpdatesPass
from serenity_mlir.dialect_passes.stream.region_rewrite import RegionRewrite, RegionRewritePass
from serenity_mlir.dialect_passes.stream.rematerialize_splats import RematerializeSplatsPass
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule, ScheduleExecutionPass
from serenity_mlir.report import Rewrite
from serenity_mlir.time_shares import time_shares

_PATTERNS: dict[str, Callable[..., RegionRewritePass]] = {
    "re-chain": RechainUpdatesPass,
    "displace result": DisplaceResultsPass,
    "rematerialise splat": RematerializeSplatsPass,
}
# The share of the time limit of rewrites, which also get what scheduling leaves over.
_REWRITE = 0.08


def order_execution(
    module: ir.Operation, scheduling: ScheduleExecutionPass
) -> tuple[list[RegionSchedule], list[Rewrite]]:
    """Schedule the regions of `module`, then rewrite those that need less memory for it.

    Args:
        module: After `iree-stream-async-transformation-pipeline`.
        scheduling: How to schedule; its time limit is for rewrites too. There are none where the
            file order is to be kept.

    Returns:
        The schedules as they are in the end, and the rewrites that were kept.
    """
    began = perf_counter()
    limit = scheduling.time_limit
    schedules = replace(scheduling, time_limit=(1 - _REWRITE) * limit).apply(module)
    if scheduling.keep_order:
        return schedules, []
    left = max(limit - (perf_counter() - began), _REWRITE * limit)
    current = {item.region: item for item in schedules}
    rewrites: list[Rewrite] = []
    for (pattern, kind), share in zip(
        _PATTERNS.items(), time_shares([1] * len(_PATTERNS), left), strict=True
    ):
        rewriting = kind(share, scheduling.alignment, scheduling.io, scheduling.method)
        for found in rewriting.apply(module):
            before = current[found.schedule.region]
            current[before.region] = replace(
                found.schedule, file_peak=before.file_peak, held=before.held, original=before.file_graph
            )
            if found.places:
                rewrites.append(_entry(pattern, found))
    return list(current.values()), rewrites


def _entry(pattern: str, found: RegionRewrite) -> Rewrite:
    places = ", ".join(dict.fromkeys(found.places))
    return Rewrite(pattern, f"{found.schedule.region}: {places}", found.saved)
