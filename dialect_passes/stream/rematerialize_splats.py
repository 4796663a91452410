"""`serenity-rematerialize-splats`: a fill for each consumer where sharing one takes more memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from typing import Annotated, ClassVar

from serenity_mlir.arena import plan
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.cost import RegionRewrite, cheaper, graph_of, peak_now
from serenity_mlir.dialect_passes.stream.execution_graph import ExecutionGraph, label
from serenity_mlir.dialect_passes.stream.regions import Region, regions
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule, reorder
from serenity_mlir.dialect_passes.stream.splat_copies import SharedSplat, shared_splats
from serenity_mlir.errors import CheckFailed
from serenity_mlir.liveness import Slice, live_bytes, live_ranges
from serenity_mlir.schedulers import Schedule
from serenity_mlir.time_shares import time_shares

_Merge = tuple[SharedSplat, int, int]


@dataclass(frozen=True)
class RematerializeSplatsPass(Pass[list[RegionRewrite]]):
    """Fills a buffer anew for each consumer where a shared fill costs memory.

    A splat that two ops use is live from the first to the second. A fill of its own for each is
    live while that op runs; it costs the time of the fill, so consumers share one wherever that
    takes no more memory, and nothing changes where the peak stays. A clone of a splat counts as a
    consumer and becomes a fill. Belongs after `serenity-schedule-execution`: the order that a
    body stands in is the one to beat.
    """

    name: ClassVar[str] = "serenity-rematerialize-splats"
    time_limit: Annotated[float, "seconds for all regions together"] = 10.0
    alignment: Annotated[int, "bytes; 0 takes the module's own"] = 0

    def apply(self, module: ir.Operation) -> list[RegionRewrite]:
        """Rematerialise splats in the regions that need less memory for it; returns those."""
        candidates: list[tuple[Region, list[SharedSplat], ExecutionGraph]] = []
        for region in regions(module):
            shared = list(shared_splats(region.op))
            graph = graph_of(region, self.alignment) if shared else None
            if graph is not None:
                candidates.append((region, shared, graph))
        shares = time_shares([len(graph.ops) for *_, graph in candidates], self.time_limit)
        out = []
        for (region, shared, graph), share in zip(candidates, shares, strict=True):
            rewritten = self._rematerialize(region, shared, peak_now(graph), share)
            if rewritten is not None:
                out.append(rewritten)
        return out

    def _rematerialize(
        self, region: Region, shared: list[SharedSplat], before: int, time_limit: float
    ) -> RegionRewrite | None:
        began = perf_counter()
        labels = [label(item.splat) for item in shared]
        for item in shared:
            item.separate()
        found = graph_of(region, self.alignment)
        if found is None:
            raise CheckFailed(f"{region.name} has no memory graph once its splats are separate")
        alignment = self.alignment or alignment_of(region.op)
        better = cheaper(found.graph, than=before, alignment=alignment, time_limit=time_limit)
        if better is None:
            for item in reversed(shared):
                item.undo()
            return None
        schedule, arena = better
        merges, ranges = _merges(found, schedule, shared)
        left = max(time_limit - (perf_counter() - began), 0.0)
        if merges and plan(ranges, alignment=alignment, time_limit=left).size > arena:
            merges = []
        reorder(region.op, [found.ops[index] for index in schedule.order])
        for item, later, earlier in merges:
            item.share(later, earlier)
        for item in shared:
            item.settle()
        separate = (len(set(item.fills)) + len(item.clones) for item in shared)
        places = tuple(name for name, count in zip(labels, separate, strict=True) if count > 1)
        return RegionRewrite(self._settled(region, schedule, before, places), places, before - arena)

    def _settled(
        self, region: Region, schedule: Schedule, before: int, places: tuple[str, ...]
    ) -> RegionSchedule:
        """The schedule of the region as it stands now, which must keep its peak."""
        final = graph_of(region, self.alignment)
        if final is None or peak_now(final) > schedule.peak:
            raise CheckFailed(f"the rematerialised splats of {region.name} take more than was planned")
        schedule = replace(schedule, order=final.graph.file_order, peak=peak_now(final))
        if places:
            schedule = replace(schedule, method=f"{schedule.method} (splats rematerialised)")
        return RegionSchedule(region.name, region.role, final.graph, schedule, before)


def _merges(
    found: ExecutionGraph, schedule: Schedule, shared: list[SharedSplat]
) -> tuple[list[_Merge], list[Slice]]:
    """Consumers that may share the fill of the one before them with no higher peak, and live ranges then."""
    ranges = live_ranges(found.graph, schedule.order)
    place = {found.ops[index]: step for step, index in enumerate(schedule.order)}
    touches = {op: found.graph.ops[index].touches for index, op in enumerate(found.ops)}
    merges: list[_Merge] = []
    for item in shared:
        buffers = [touches[fill] for fill in item.fills]
        places = [place[consumer] for consumer in item.consumers]
        for earlier, later in pairwise(sorted(range(len(places)), key=places.__getitem__)):
            written = item.writer is not None and item.writer == item.consumers[earlier]
            if written or not buffers[earlier] or not buffers[later]:
                continue
            (kept,), (dropped,) = buffers[earlier], buffers[later]
            tried = list(ranges)
            tried[kept] = replace(ranges[kept], end=ranges[dropped].end)
            tried[dropped] = replace(ranges[dropped], start=0, end=0)
            if max(live_bytes(tried, len(place))) <= schedule.peak:
                ranges = tried
                buffers[later] = buffers[earlier]
                merges.append((item, later, earlier))
    return merges, ranges
