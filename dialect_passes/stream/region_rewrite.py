"""What rewrites of execution regions have in common: they must win memory, or nothing changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.execution_graph import (
    ExecutionGraph,
    Held,
    UnschedulableError,
    execution_graph,
)
from serenity_mlir.dialect_passes.stream.regions import Region, regions
from serenity_mlir.dialect_passes.stream.schedule_execution import (
    ARENA,
    EXTERNAL,
    RegionSchedule,
    check_options,
    held_by_region,
)
from serenity_mlir.errors import CheckFailed
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.joint import schedule_and_plan
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers import DEFAULT_METHOD, METHODS, Schedule
from serenity_mlir.schedulers.bounds import lower_bound
from serenity_mlir.time_shares import time_shares


@dataclass(frozen=True, slots=True)
class RegionRewrite:
    """An execution region that was rewritten and reordered because that takes less memory.

    Attributes:
        schedule: The order that it now has; `file_peak` is its peak before.
        places: Labels of the ops that made the buffers concerned; empty where the new order
            alone did it.
        saved: Bytes by which the new arena is below the live peak of the order before.
    """

    schedule: RegionSchedule
    places: tuple[str, ...]
    saved: int


@dataclass(frozen=True)
class RegionRewritePass(Pass[list[RegionRewrite]]):
    """Base of passes that change a region where it then needs less than in the order that it stands in.

    They belong after `serenity-schedule-execution`, with the same `io`.

    Raises:
        ValueError: There is no such `io` or `method`.
    """

    time_limit: Annotated[float, "seconds for all regions together"] = 10.0
    alignment: Annotated[int, "bytes; 0 takes the module's own"] = 0
    io: Annotated[str, "external: callers own inputs and outputs; arena: they count"] = EXTERNAL
    method: Annotated[str, f"how orders are looked for: {', '.join(METHODS)}"] = DEFAULT_METHOD

    def __post_init__(self) -> None:
        check_options(self.io, self.method)

    def apply(self, module: ir.Operation) -> list[RegionRewrite]:
        """Rewrite the regions that need less memory for it; returns those."""
        everything = regions(module)
        found = [region for region in everything if self._has_candidates(region)]
        held = held_by_region(module, everything, self.alignment) if found and self.io == ARENA else {}
        graphs: list[tuple[Region, Sequence[Held], MemoryGraph]] = []
        for region in found:
            own: Sequence[Held] = held.get(region.name, ())
            try:
                graphs.append((region, own, self._graph(region, own).graph))
            except UnschedulableError as error:
                remark(region.op, f"left as it is: {error}")
        out = []
        shares = time_shares([len(graph.ops) for *_, graph in graphs], self.time_limit)
        for (region, own, graph), share in zip(graphs, shares, strict=True):
            rewritten = self._rewrite(region, own, peak(graph, graph.file_order), share)
            if rewritten is not None:
                out.append(rewritten)
        return out

    @abstractmethod
    def _has_candidates(self, region: Region) -> bool:
        """Whether there is anything to rewrite; a quick look."""

    @abstractmethod
    def _rewrite(
        self, region: Region, held: Sequence[Held], before: int, time_limit: float
    ) -> RegionRewrite | None:
        """Rewrite a region whose peak is `before` bytes; None, and as it was, where that wins nothing."""

    def _graph(self, region: Region, held: Sequence[Held], *, by_slices: bool = False) -> ExecutionGraph:
        alignment = self.alignment or alignment_of(region.op)
        return execution_graph(region.op, alignment=alignment, held=held, by_slices=by_slices)

    def _cheaper(
        self, region: Region, graph: MemoryGraph, *, than: int, time_limit: float
    ) -> tuple[Schedule, int] | None:
        """An order of `graph` whose arena is below `than`, and the size of that arena in bytes.

        None where none was found; a bound that excludes it saves the search. `than` is the live
        peak that the region has now: no arena of it is smaller.
        """
        if lower_bound(graph) >= than:
            return None
        alignment = self.alignment or alignment_of(region.op)
        found, arena = schedule_and_plan(
            graph, alignment=alignment, time_limit=time_limit, method=self.method
        )
        if not graph.is_legal(found.order) or peak(graph, found.order) != found.peak:
            raise CheckFailed(f"the schedule of {region.name} breaks a dependence or misstates its peak")
        return (found, arena.size) if arena.size < than else None
