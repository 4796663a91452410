"""`serenity-rechain-updates`: updates of disjoint slices of one buffer, in the order that takes least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.execution_graph import Held, UnschedulableError, label
from serenity_mlir.dialect_passes.stream.region_rewrite import RegionRewrite, RegionRewritePass
from serenity_mlir.dialect_passes.stream.regions import Region
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule, reorder


@dataclass(frozen=True)
class RechainUpdatesPass(RegionRewritePass):
    """Re-chains in-place writes of disjoint slices of one buffer where their order costs memory.

    A concat in place is a chain of SSA ties, in the order of the concat's operands. Which
    update comes first means nothing where their slices are disjoint, yet the chain makes early
    operands wait for late ones. Belongs after `serenity-schedule-execution`: the order that a
    body stands in is the one to beat, and where no other chain beats it nothing changes. Slices
    are what IREE's access ranges say; without constant bounds a range is the whole buffer.
    """

    name: ClassVar[str] = "serenity-rechain-updates"

    def _has_candidates(self, region: Region) -> bool:
        try:
            return bool(self._graph(region, (), by_slices=True).chains)
        except UnschedulableError as error:
            remark(region.op, f"left as it is: {error}")
            return False

    def _rewrite(
        self, region: Region, held: Sequence[Held], before: int, time_limit: float
    ) -> RegionRewrite | None:
        found = self._graph(region, held, by_slices=True)
        better = self._cheaper(region, found.graph, than=before, time_limit=time_limit)
        if better is None:
            return None
        schedule, arena = better
        changed = rechain(region.op, [found.ops[index] for index in schedule.order], found.chains)
        places = tuple(label(op) for op in found.ops if _origin(op, found.chains) in changed)
        if places:
            schedule = replace(schedule, method=f"{schedule.method} (re-chained)")
        ordered = RegionSchedule(region.name, region.role, found.graph, schedule, before)
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
