"""Analyses to look at: one by the command line, and one as large as they come without compiling it."""

from __future__ import annotations

import random

from serenity_mlir.arena import plan
from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import live_ranges
from serenity_mlir.random_orders import random_peaks
from serenity_mlir.report import (
    SCHEMA_VERSION,
    Footprint,
    Memory,
    ModelInfo,
    RegionInfo,
    Report,
    ScheduleInfo,
    Seconds,
)
from serenity_mlir.timeline import Course, RegionTimeline, Source, course
from serenity_mlir.views import RandomOrders, Shown

NAME = "main$async#0"


def graph_of(ops: int, *, seed: int = 0, reach: int = 12) -> MemoryGraph:
    """Ops that each make a buffer out of one or two of the last `reach`."""
    chance = random.Random(seed)
    preds: list[tuple[int, ...]] = [()]
    for index in range(1, ops):
        near = range(max(0, index - reach), index)
        preds.append(tuple(sorted(chance.sample(near, min(len(near), chance.randint(1, 2))))))
    sizes = [64 * chance.randint(1, 2000) for _ in range(ops)]
    buffers = tuple(Buffer(f"b{index}", size) for index, size in enumerate(sizes))
    nodes = tuple(Op(f"op{index}", (index, *preds[index])) for index in range(ops))
    return MemoryGraph(nodes, buffers, tuple(preds))


def shown_of(graph: MemoryGraph, *, drawn: int = 20) -> Shown:
    """An analysis of a graph: at first depth first, which is bad, and then in the order it was made in."""
    orders = _depth_first(graph), graph.file_order
    before, after = (_course(graph, order) for order in orders)
    bound = min(before.peak, after.peak) // 2
    region = RegionTimeline(NAME, "model", before, after)
    footprints = Footprint(before.peak, before.arena), Footprint(after.peak, after.arena)
    info = RegionInfo(NAME, "model", len(graph.ops), *footprints, bound, False, "as it was made", "")
    peaks = random_peaks(graph, drawn, seed=0)
    report = Report(
        schema_version=SCHEMA_VERSION,
        model=ModelInfo("folder/<model> & more.onnx", "00", "onnx"),
        target="generic",
        iree_version="3.13.0",
        memory=Memory(*footprints, bound, False, 0.5, after.arena, 640, 64, 1280, 1000),
        schedule=ScheduleInfo("as it was made", len(graph.ops), 0, 0.0, 1),
        regions=[info],
        rewrites=[],
        seconds=Seconds(0.0, 0.0, 0.0, 0.0, 0.0),
        timeline=(region,),
    )
    return Shown(report, (RandomOrders(NAME, 0, tuple(peaks.items())),))


def _course(graph: MemoryGraph, order: tuple[int, ...]) -> Course:
    sources = [Source(f"dispatch_{op}", (f"/block{op // 10}/Conv_{op}",)) for op in order]
    laid = plan(live_ranges(graph, order), alignment=64, time_limit=0.2)
    return course(graph, order, sources, dict(enumerate(laid.offsets)))


def _depth_first(graph: MemoryGraph) -> tuple[int, ...]:
    """Of what is ready, what became so last."""
    missing = [len(preds) for preds in graph.preds]
    ready, order = [op for op, count in enumerate(missing) if not count], []
    while ready:
        order.append(ready.pop())
        for succ in graph.succs[order[-1]]:
            missing[succ] -= 1
            if not missing[succ]:
                ready.append(succ)
    return tuple(order)
