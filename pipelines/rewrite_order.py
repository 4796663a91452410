"""Rewrites of execution regions that allow a better order, after scheduling has done what it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.cost import RegionRewrite
from serenity_mlir.dialect_passes.stream.rechain_updates import RechainUpdatesPass
from serenity_mlir.dialect_passes.stream.rematerialize_splats import RematerializeSplatsPass
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.report import Rewrite
from serenity_mlir.time_shares import time_shares

_PATTERNS = {"re-chain": RechainUpdatesPass, "rematerialise splat": RematerializeSplatsPass}


def rewrite_order(
    module: ir.Operation, schedules: Sequence[RegionSchedule], *, alignment: int, time_limit: float
) -> tuple[list[RegionSchedule], list[Rewrite]]:
    """Rewrite the scheduled regions of `module` where that takes less memory.

    Args:
        module: After `serenity-schedule-execution`.
        schedules: What that returned.
        alignment: Of slices, in bytes; 0 takes the module's own.
        time_limit: Seconds for all searches together.

    Returns:
        The schedules as they are now, and the rewrites that were kept.
    """
    current = {item.region: item for item in schedules}
    rewrites: list[Rewrite] = []
    shares = time_shares([1] * len(_PATTERNS), time_limit)
    for (pattern, kind), share in zip(_PATTERNS.items(), shares, strict=True):
        for found in kind(time_limit=share, alignment=alignment).apply(module):
            region = found.schedule.region
            before = current[region]
            current[region] = replace(found.schedule, file_peak=before.file_peak, original=before.file_graph)
            if found.places:
                rewrites.append(_entry(pattern, found))
    return list(current.values()), rewrites


def _entry(pattern: str, found: RegionRewrite) -> Rewrite:
    places = ", ".join(dict.fromkeys(found.places))
    return Rewrite(pattern, f"{found.schedule.region}: {places}", found.saved)
