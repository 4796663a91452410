"""From what was compiled to the course of memory over its steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.dialect_passes.stream.whole_arena import WholeArena
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import live_ranges
from serenity_mlir.pipelines.footprint import Layout
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.lower_stream import StreamResult
from serenity_mlir.timeline import Course, RegionTimeline, course


def timelines(result: StreamResult, source: SourceModel) -> tuple[RegionTimeline, ...]:
    """The course of memory in every region of constant sizes, in program order.

    Where one arena holds inputs and outputs too (`result.whole`), they are among the buffers.
    """
    tensors = {f"input {index}": item.name for index, item in enumerate(source.inputs)}
    tensors |= {f"output {index}": item.name for index, item in enumerate(source.outputs)}
    counted = None if result.whole is None else tensors
    return tuple(
        RegionTimeline(
            item.region,
            item.role,
            before=_course(item, item.file_graph, item.file_graph.file_order, result.before, counted),
            after=_course(item, item.graph, item.schedule.order, result.after, counted),
        )
        for item in result.schedules
        if item.graph is not None and item.file_graph is not None and item.schedule is not None
    )


def _course(
    region: RegionSchedule,
    graph: MemoryGraph,
    order: Sequence[int],
    layout: Layout,
    tensors: Mapping[str, str] | None,
) -> Course:
    """Over one order of a region; `tensors` are None where inputs and outputs do not count."""
    held = len(region.held or ())
    if tensors is None:  # counted while ordering, and no part of the arena after all
        graph, held = _without_last(graph, held), 0
    names = [(tensors or {}).get(item.name, "") for item in region.held or ()][:held]
    arena = layout.arenas.get(region.region.rpartition("#")[0])
    if arena is None or region.role != "model":
        offsets = _slab_offsets(region.region, graph, order, layout)
    else:
        offsets = _arena_offsets(region.region, graph, held, arena)
    return course(graph, order, layout.sources[region.region], offsets, names)


def counted_graph(region: RegionSchedule, *, whole: bool) -> MemoryGraph | None:
    """The graph that a region's peaks are of: with inputs and outputs only where one arena holds them."""
    if region.graph is None or whole:
        return region.graph
    return _without_last(region.graph, len(region.held or ()))


def _without_last(graph: MemoryGraph, count: int) -> MemoryGraph:
    """`graph` without its last buffers."""
    kept = len(graph.buffers) - count
    ops = (
        replace(
            op,
            touches=tuple(index for index in op.touches if index < kept),
            updates=frozenset(index for index in op.updates if index < kept),
        )
        for op in graph.ops
    )
    return MemoryGraph(tuple(ops), graph.buffers[:kept], graph.preds)


def _slab_offsets(name: str, graph: MemoryGraph, order: Sequence[int], layout: Layout) -> dict[int, int]:
    """Of a region's buffers in its slab; those of one size and lifetime may stand for one another."""
    free: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for laid in layout.plans:
        if laid.name == name and laid.kind == "slab" and laid.plan is not None:
            for item, offset in zip(laid.slices, laid.plan.offsets, strict=True):
                free[item.start, item.end, item.size].append(offset)
    offsets = {}
    for index, item in enumerate(live_ranges(graph, order)):
        places = free[item.start, item.end, item.size]
        if places:
            offsets[index] = places.pop()
    return offsets


def _arena_offsets(name: str, graph: MemoryGraph, held: int, arena: WholeArena) -> dict[int, int]:
    """Of a region's buffers, and of inputs and outputs, in the arena of its function."""
    _, where = arena.timeline.own[name]
    offsets = {number: arena.plan.offsets[index] for number, index in enumerate(where)}
    for number in range(len(graph.buffers) - held, len(graph.buffers)):
        at = arena.timeline.held[graph.buffers[number].name]
        offsets[number] = arena.plan.offsets[at]
    return offsets
