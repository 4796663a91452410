"""One arena for all that a call of the model touches: slices of the slab, inputs and outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from serenity_mlir.arena import ArenaPlan, check_plan, plan
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.liveness import Slice, live_bytes, live_ranges


@dataclass(frozen=True, slots=True)
class Timeline:
    """What lives when, over all regions of one function.

    Attributes:
        slices: Of all storage; steps count on from region to region.
        own: For each region the positions in `slices` of its own storage, and the region's first step.
        held: The positions in `slices` of inputs, outputs and the like, by name.
    """

    slices: tuple[Slice, ...]
    own: dict[str, tuple[int, range]]
    held: dict[str, int]

    @property
    def peak(self) -> int:
        """The most bytes live at once."""
        return max(live_bytes(self.slices, max((item.end for item in self.slices), default=0)), default=0)

    def own_slices(self, region: str) -> Counter[Slice]:
        """A region's own slices, steps counted from its start, as `stream.resource.pack` lists them."""
        base, where = self.own[region]
        found = (self.slices[index] for index in where)
        return Counter(Slice(item.start - base, item.end - base, item.size) for item in found)


def timeline(schedules: Sequence[RegionSchedule], *, file_order: bool = False) -> Timeline | None:
    """What lives when in a function.

    Args:
        schedules: All regions of the function, in program order.
        file_order: In the order before scheduling.

    Returns:
        None where a region's storage is not known, where inputs and outputs were not counted, or
        where two of them share a name.
    """
    slices: list[Slice] = []
    own: dict[str, tuple[int, range]] = {}
    held: dict[int, tuple[str, Slice]] = {}
    base = 0
    for item in schedules:
        graph = item.file_graph if file_order else item.graph
        if graph is None or item.schedule is None or item.held is None:
            return None
        order = graph.file_order if file_order else item.schedule.order
        ranges = [Slice(r.start + base, r.end + base, r.size) for r in live_ranges(graph, order)]
        first = len(ranges) - len(item.held)
        own[item.region] = (base, range(len(slices), len(slices) + first))
        slices += ranges[:first]
        for storage, found in zip(item.held, ranges[first:], strict=True):
            name, before = held.get(storage.number, (storage.name, found))
            held[storage.number] = (name, _joined(before, found))
        base += max(len(order), 1)
    at = {name: len(slices) + index for index, (name, _) in enumerate(held.values())}
    if len(at) < len(held):
        return None
    return Timeline((*slices, *(found for _, found in held.values())), own, at)


def _joined(one: Slice, two: Slice) -> Slice:
    if one.start == one.end:
        return two
    return Slice(min(one.start, two.start), max(one.end, two.end), one.size)


@dataclass(frozen=True, slots=True)
class WholeArena:
    """A function's timeline with offsets for all of it, checked."""

    timeline: Timeline
    plan: ArenaPlan


def plan_whole(found: Timeline, *, alignment: int, time_limit: float) -> WholeArena:
    """Pack everything into one arena.

    Raises:
        CheckFailed: The plan does not hold: our fault.
    """
    result = plan(found.slices, alignment=alignment, time_limit=time_limit)
    check_plan(found.slices, result.offsets, result.size, alignment=alignment)
    return WholeArena(found, result)
