"""`serenity-rechain-updates`: updates of disjoint slices of one buffer, in the order that takes least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.cost import RegionRewrite, cheaper, graph_of, peak_now
from serenity_mlir.dialect_passes.stream.execution_graph import ExecutionGraph, label
from serenity_mlir.dialect_passes.stream.regions import Region, regions
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule, reorder
from serenity_mlir.errors import CheckFailed
from serenity_mlir.liveness import peak
from serenity_mlir.time_shares import time_shares


@dataclass(frozen=True)
class RechainUpdatesPass(Pass[list[RegionRewrite]]):
    """Re-chains in-place writes of disjoint slices of one buffer where their order costs memory.

    A concat in place is a chain of SSA ties, in the order of the concat's operands. Which
    update comes first means nothing where their slices are disjoint, yet the chain makes early
    operands wait for late ones. Belongs after `serenity-schedule-execution`: the order that a
    body stands in is the one to beat, and where no other chain beats it nothing changes. Slices
    are what IREE's access ranges say; without constant bounds a range is the whole buffer.
    """

    name: ClassVar[str] = "serenity-rechain-updates"
    time_limit: Annotated[float, "seconds for all regions together"] = 10.0
    alignment: Annotated[int, "bytes; 0 takes the module's own"] = 0

    def apply(self, module: ir.Operation) -> list[RegionRewrite]:
        """Re-chain the regions that need less memory for it; returns those."""
        candidates: list[tuple[Region, ExecutionGraph]] = []
        for region in regions(module):
            graph = graph_of(region, self.alignment, by_slices=True)
            if graph is not None and graph.chains:
                candidates.append((region, graph))
        shares = time_shares([len(graph.ops) for _, graph in candidates], self.time_limit)
        out = []
        for (region, graph), share in zip(candidates, shares, strict=True):
            rewritten = self._rechain(region, graph, share)
            if rewritten is not None:
                out.append(rewritten)
        return out

    def _rechain(self, region: Region, found: ExecutionGraph, time_limit: float) -> RegionRewrite | None:
        graph, before = found.graph, peak_now(found)
        alignment = self.alignment or alignment_of(region.op)
        better = cheaper(graph, than=before, alignment=alignment, time_limit=time_limit)
        if better is None:
            return None
        schedule, arena = better
        if not graph.is_legal(schedule.order) or peak(graph, schedule.order) != schedule.peak:
            raise CheckFailed(f"the schedule of {region.name} breaks a dependence or misstates its peak")
        changed = rechain(region.op, [found.ops[index] for index in schedule.order], found.chains)
        places = tuple(label(op) for op in found.ops if _origin(op, found.chains) in changed)
        if places:
            schedule = replace(schedule, method=f"{schedule.method} (re-chained)")
        ordered = RegionSchedule(region.name, region.role, graph, schedule, before)
        return RegionRewrite(ordered, places, before - arena)


def rechain(execute: ir.Operation, order: Sequence[ir.Operation], chains: Mapping[ir.Value, int]) -> set[int]:
    """Put the body's ops into `order`, and tie each op to the newest name of its storage.

    Args:
        execute: The region op.
        order: All of its ops, the terminator left out.
        chains: The storage of each value that is to be named anew.

    Returns:
        The storage whose names were in another order before.
    """
    reorder(execute, order)
    *_, terminator = execute.regions[0].blocks[0].operations
    newest: dict[int, ir.Value] = {}
    changed: set[int] = set()
    for op in (*order, terminator.operation):
        for index, operand in enumerate(list(op.operands)):
            storage = chains.get(operand)
            if storage is not None and newest[storage] != operand:
                op.operands[index] = newest[storage]
                changed.add(storage)
        for result in op.results:
            if result in chains:
                newest[chains[result]] = result
    return changed


def _origin(op: ir.Operation, chains: Mapping[ir.Value, int]) -> int | None:
    """The storage that `op` makes, if it is in `chains`."""
    inherited = {chains[operand] for operand in op.operands if operand in chains}
    made = (chains[result] for result in op.results if result in chains)
    return next((storage for storage in made if storage not in inherited), None)
