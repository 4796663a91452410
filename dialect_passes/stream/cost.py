"""What a rewrite of an execution region must win, and what becomes of the region where it does."""

from __future__ import annotations

from dataclasses import dataclass

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.execution_graph import (
    ExecutionGraph,
    UnschedulableError,
    execution_graph,
)
from serenity_mlir.dialect_passes.stream.regions import Region
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.joint import schedule_and_plan
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers import Schedule
from serenity_mlir.schedulers.bounds import lower_bound


@dataclass(frozen=True, slots=True)
class RegionRewrite:
    """An execution region that was rewritten and reordered because that takes less memory.

    Attributes:
        schedule: The order that it now has; `file_peak` is its peak before.
        places: Labels of the ops that own the buffers concerned; empty where the new order
            alone did it.
        saved: Bytes by which the new arena is below the live peak of the order before.
    """

    schedule: RegionSchedule
    places: tuple[str, ...]
    saved: int


def graph_of(region: Region, alignment: int, *, by_slices: bool = False) -> ExecutionGraph | None:
    """The memory graph of `region`; None, with a remark, where it has none.

    Args:
        region: The region.
        alignment: Bytes to which each size is rounded up; 0 takes the module's own.
        by_slices: As for `execution_graph`.
    """
    try:
        return execution_graph(region.op, alignment=alignment or alignment_of(region.op), by_slices=by_slices)
    except UnschedulableError as error:
        remark(region.op, f"left as it is: {error}")
        return None


def cheaper(
    graph: MemoryGraph, *, than: int, alignment: int, time_limit: float
) -> tuple[Schedule, int] | None:
    """An order of `graph` whose arena is below `than`, and the size of that arena in bytes.

    None where there is none, which costs nothing where a bound proves it, or none was found.

    Args:
        graph: What the region would become.
        than: The live peak that the region has now, in bytes: no arena of it is smaller.
        alignment: Bytes that offsets are multiples of.
        time_limit: Wall time in seconds.
    """
    if lower_bound(graph) >= than:
        return None
    found, arena = schedule_and_plan(graph, alignment=alignment, time_limit=time_limit)
    return (found, arena.size) if arena.size < than else None


def peak_now(found: ExecutionGraph) -> int:
    """The live peak of a region as it stands, in bytes."""
    return peak(found.graph, found.graph.file_order)
