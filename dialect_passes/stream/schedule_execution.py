"""`serenity-schedule-execution`: the memory-optimal order of what IREE will execute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.access import CONCURRENT, is_resource
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.execution_graph import (
    ExecutionGraph,
    Held,
    UnschedulableError,
    execution_graph,
)
from serenity_mlir.dialect_passes.stream.held_storage import held_storage
from serenity_mlir.dialect_passes.stream.regions import Region, functions, regions
from serenity_mlir.errors import CheckFailed
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.joint import schedule_and_plan
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers import DEFAULT_METHOD, METHODS, Schedule, check_method
from serenity_mlir.schedulers.bounds import lower_bound

EXTERNAL, ARENA = IO = ("external", "arena")
"""Who owns inputs and outputs: the caller, or the one arena of the model."""


def check_options(io: str, method: str) -> None:
    """Check what passes on regions are asked for.

    Raises:
        ValueError: There is no such `io` or `method`.
    """
    check_method(method)
    if io not in IO:
        raise ValueError(f"io is {' or '.join(IO)}, not {io!r}")


@dataclass(frozen=True, slots=True)
class RegionSchedule:
    """What became of one execution region.

    Attributes:
        region: Its name, `function#ordinal`.
        role: "model" or "initializer".
        graph: Its memory graph in file order; None where it was left alone.
        schedule: The order that it now has; None where it was left alone.
        file_peak: Live peak in file order, bytes; 0 where it was left alone.
        left_alone: Why it was not scheduled; empty where it was.
        held: Inputs, outputs and the like that the graph counts as its last buffers; None
            where it counts none.
        original: Where it was rewritten, its memory graph in file order before that.
    """

    region: str
    role: str
    graph: MemoryGraph | None
    schedule: Schedule | None
    file_peak: int
    left_alone: str = ""
    held: tuple[Held, ...] | None = None
    original: MemoryGraph | None = None

    @property
    def file_graph(self) -> MemoryGraph | None:
        """The memory graph of the program as it came, in file order."""
        return self.original or self.graph


@dataclass(frozen=True)
class ScheduleExecutionPass(Pass[list[RegionSchedule]]):
    """Reorders the ops of every `stream.async.execute` to the minimal live peak.

    Belongs after `iree-stream-async-transformation-pipeline`, where sizes are constants and
    in-place results and copies are explicit: what is ordered here is what IREE allocates.
    Of orders found, the one with the smallest arena is taken: where the least peak cannot be
    packed without gaps, another order may be better.
    A `stream.async.concurrent` that is left in a body is flattened first.
    With `io=arena`, inputs and outputs count as well, an input until its last use. Functions
    with control flow or state outside of their regions have no such arena, which a remark says.

    Raises:
        ValueError: `io` is neither.
    """

    name: ClassVar[str] = "serenity-schedule-execution"
    time_limit: Annotated[float, "seconds for all regions together"] = 10.0
    alignment: Annotated[int, "bytes; 0 takes the module's own"] = 0
    keep_order: Annotated[bool, "measure the file order and leave it"] = False
    io: Annotated[str, "external: callers own inputs and outputs; arena: they count"] = EXTERNAL
    method: Annotated[str, f"how orders are looked for: {', '.join(METHODS)}"] = DEFAULT_METHOD

    def __post_init__(self) -> None:
        check_options(self.io, self.method)

    def apply(self, module: ir.Operation) -> list[RegionSchedule]:
        """Reorder every region, and return what was found."""
        found = regions(module)
        for region in found:
            flatten_concurrency(region.op)
        held = held_by_region(module, found, self.alignment) if self.io == ARENA else {}
        graphs = [
            _graph_of(region, self.alignment or alignment_of(region.op), held.get(region.name, ()))
            for region in found
        ]
        ops = sum(len(graph.ops) for graph in graphs if isinstance(graph, ExecutionGraph))
        out = []
        for region, graph in zip(found, graphs, strict=True):
            if isinstance(graph, str):
                remark(region.op, f"left in its own order: {graph}")
                out.append(RegionSchedule(region.name, region.role, None, None, 0, graph))
                continue
            share = self.time_limit * len(graph.ops) / max(ops, 1)
            out.append(replace(self._schedule(region, graph, share), held=held.get(region.name)))
        return out

    def _schedule(self, region: Region, graph: ExecutionGraph, time_limit: float) -> RegionSchedule:
        file_peak = peak(graph.graph, graph.graph.file_order)
        if self.keep_order:
            bound = lower_bound(graph.graph)
            result = Schedule(graph.graph.file_order, file_peak, bound, "file-order (kept)")
        else:
            alignment = self.alignment or alignment_of(region.op)
            result, _ = schedule_and_plan(
                graph.graph, alignment=alignment, time_limit=time_limit, method=self.method
            )
        if not graph.graph.is_legal(result.order) or peak(graph.graph, result.order) != result.peak:
            raise CheckFailed(f"the schedule of {region.name} breaks a dependence or misstates its peak")
        reorder(region.op, [graph.ops[index] for index in result.order])
        return RegionSchedule(region.name, region.role, graph.graph, result, file_peak)


def held_by_region(
    module: ir.Operation, found: Sequence[Region], alignment: int
) -> dict[str, tuple[Held, ...]]:
    """What each region of the model holds beside its own, where that is known; remarks say where not.

    Args:
        module: What the regions are of.
        found: All of them.
        alignment: Bytes to which sizes are rounded up; 0 takes the function's own.
    """
    out: dict[str, tuple[Held, ...]] = {}
    for name, function in functions(module):
        own = [item for item in found if item.name.rpartition("#")[0] == name and item.role == "model"]
        if own:
            try:
                held = held_storage(function, own, alignment or alignment_of(function))
            except UnschedulableError as error:
                remark(function, f"inputs and outputs are in no arena: {error}")
                continue
            out |= {item.name: storage for item, storage in zip(own, held, strict=True)}
    return out


def _graph_of(region: Region, alignment: int, held: Sequence[Held]) -> ExecutionGraph | str:
    try:
        return execution_graph(region.op, alignment=alignment, held=held)
    except UnschedulableError as error:
        return str(error)


def reorder(execute: ir.Operation, order: Sequence[ir.Operation]) -> None:
    """Put the body's ops, the terminator left out, into `order`."""
    *_, terminator = execute.regions[0].blocks[0].operations
    for op in order:
        op.move_before(terminator.operation)


def flatten_concurrency(execute: ir.Operation) -> None:
    """Replace every `stream.async.concurrent` of a body by its ops, one after another."""
    for item in list(execute.regions[0].blocks[0].operations):
        concurrent = item.operation
        if concurrent.name != CONCURRENT:
            continue
        flatten_concurrency(concurrent)
        block = concurrent.regions[0].blocks[0]
        captured = [
            operand for operand in concurrent.operands if str(operand.type).startswith("!stream.resource")
        ]
        for argument, operand in zip(block.arguments, captured, strict=True):
            argument.replace_all_uses_with(operand)
        *inner, terminator = (op.operation for op in block.operations)
        for op in inner:
            op.move_before(concurrent)
        yielded = [value for value in terminator.operands if is_resource(value)]
        for result, value in zip(concurrent.results, yielded, strict=True):
            result.replace_all_uses_with(value)
        concurrent.erase()
