"""`serenity-rematerialize-splats`: a fill for each consumer where sharing one takes more memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from typing import ClassVar

from serenity_mlir.arena import plan
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.execution_graph import ExecutionGraph, Held, label
from serenity_mlir.dialect_passes.stream.region_rewrite import RegionRewrite, RegionRewritePass
from serenity_mlir.dialect_passes.stream.regions import Region
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule, reorder
from serenity_mlir.dialect_passes.stream.splat_copies import SharedSplat, shared_splats
from serenity_mlir.errors import CheckFailed
from serenity_mlir.liveness import Slice, live_bytes, live_ranges, peak
from serenity_mlir.schedulers import Schedule

_Merge = tuple[SharedSplat, int, int]


@dataclass(frozen=True)
class RematerializeSplatsPass(RegionRewritePass):
    """Fills a buffer anew for each consumer where a shared fill costs memory.

    A splat that two ops use is live from the first to the second. A fill of its own for each is
    live while that op runs; it costs the time of the fill, so consumers share one wherever that
    takes no more memory, and nothing changes where the peak stays. A clone of a splat counts as a
    consumer and becomes a fill. Belongs after `serenity-schedule-execution`: the order that a
    body stands in is the one to beat.
    """

    name: ClassVar[str] = "serenity-rematerialize-splats"

    def _has_candidates(self, region: Region) -> bool:
        return any(shared_splats(region.op))

    def _rewrite(
        self, region: Region, held: Sequence[Held], before: int, time_limit: float
    ) -> RegionRewrite | None:
        began = perf_counter()
        shared = list(shared_splats(region.op))
        labels = [label(item.splat) for item in shared]
        for item in shared:
            item.separate()
        found = self._graph(region, held)
        better = self._cheaper(region, found.graph, than=before, time_limit=time_limit)
        if better is None:
            for item in reversed(shared):
                item.undo()
            return None
        schedule, arena = better
        merges, ranges = _merges(found, schedule, shared)
        alignment = self.alignment or alignment_of(region.op)
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
        ordered = self._settled(region, held, schedule, before, places)
        return RegionRewrite(ordered, places, before - arena)

    def _settled(
        self,
        region: Region,
        held: Sequence[Held],
        schedule: Schedule,
        before: int,
        places: tuple[str, ...],
    ) -> RegionSchedule:
        """The schedule of the region as it stands now, which must keep its peak."""
        graph = self._graph(region, held).graph
        height = peak(graph, graph.file_order)
        if height > schedule.peak:
            raise CheckFailed(f"the rematerialised splats of {region.name} take more than was planned")
        schedule = replace(schedule, order=graph.file_order, peak=height)
        if places:
            schedule = replace(schedule, method=f"{schedule.method} (splats rematerialised)")
        return RegionSchedule(region.name, region.role, graph, schedule, before)


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
