"""`serenity-displace-results`: results are copied into a concat where placing them early takes more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from time import perf_counter
from typing import ClassVar

from serenity_mlir.dialect_passes.stream.access import constant_index
from serenity_mlir.dialect_passes.stream.execution_graph import Held, UnschedulableError, label
from serenity_mlir.dialect_passes.stream.placed_results import PlacedResult, placed_results
from serenity_mlir.dialect_passes.stream.rechain_updates import rechain
from serenity_mlir.dialect_passes.stream.region_rewrite import RegionRewrite, RegionRewritePass
from serenity_mlir.dialect_passes.stream.regions import Region
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule

# The share of the time for finding out which results go back; the rest is for the order in the end.
_TRIALS = 0.7


@dataclass(frozen=True)
class DisplaceResultsPass(RegionRewritePass):
    """Gives results that IREE placed into a concat's buffer one of their own, where that saves memory.

    A result that is written in place keeps the whole buffer of the concat from then on, while
    other operands wait for their inputs. Apart it takes its own bytes, and the price of a copy.
    Results go back into their place as far as that costs nothing. Belongs after
    `serenity-schedule-execution`: the order that a body stands in is the one to beat.
    """

    name: ClassVar[str] = "serenity-displace-results"

    def _has_candidates(self, region: Region) -> bool:
        return any(placed_results(region.op))

    def _rewrite(
        self, region: Region, held: Sequence[Held], before: int, time_limit: float
    ) -> RegionRewrite | None:
        deadline = perf_counter() + _TRIALS * time_limit
        groups = _by_buffer(list(placed_results(region.op)))
        labels = [label(group[0].buffer) for group in groups]
        for group in groups:
            _separate(group)
        apart = [True] * len(groups)
        arena = self._arena(region, held, before, deadline)
        for index, group in enumerate(groups if arena is not None else ()):
            if arena is None or perf_counter() > deadline:
                break  # what is apart by then stays so
            _undo(group)
            back = self._arena(region, held, arena + 1, deadline)
            apart[index] = back is None
            if back is None:
                _separate(group)
            else:
                arena = back
        found = self._ordered(region, held, before, time_limit) if arena is not None else None
        if found is None:
            for group, is_apart in zip(groups, apart, strict=True):
                if is_apart:
                    _undo(group)
            return None
        ordered, arena = found
        for group in groups:
            for item in group:
                item.settle()
        places = tuple(name for name, is_apart in zip(labels, apart, strict=True) if is_apart)
        return RegionRewrite(ordered, places, before - arena)

    def _arena(self, region: Region, held: Sequence[Held], than: int, deadline: float) -> int | None:
        """The arena of the region as it is, if one below `than` is found."""
        try:
            graph = self._graph(region, held, by_slices=True).graph
        except UnschedulableError:  # as it was before, it could be scheduled
            return None
        better = self._cheaper(region, graph, than=than, time_limit=max(deadline - perf_counter(), 0.0))
        return better[1] if better else None

    def _ordered(
        self, region: Region, held: Sequence[Held], before: int, time_limit: float
    ) -> tuple[RegionSchedule, int] | None:
        found = self._graph(region, held, by_slices=True)
        left = (1 - _TRIALS) * time_limit
        better = self._cheaper(region, found.graph, than=before, time_limit=left)
        if better is None:
            return None
        schedule, arena = better
        rechain(region.op, [found.ops[index] for index in schedule.order], found.chains)
        schedule = replace(schedule, method=f"{schedule.method} (results displaced)")
        return RegionSchedule(region.name, region.role, found.graph, schedule, before), arena


def _by_buffer(found: list[PlacedResult]) -> list[list[PlacedResult]]:
    """The results of each buffer, small buffers first: they are likeliest to go back for nothing."""

    def size(item: PlacedResult) -> tuple[int, int]:
        return constant_index(item.buffer.operands[0]) or 0, hash(item.buffer)

    return [list(group) for _, group in groupby(sorted(found, key=size), key=size)]


def _separate(group: list[PlacedResult]) -> None:
    for item in group:
        item.separate()


def _undo(group: list[PlacedResult]) -> None:
    for item in reversed(group):
        item.undo()
