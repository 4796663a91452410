"""From one compilation to what pictures, pages and traces show."""

from __future__ import annotations

from collections.abc import Sequence

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.pipelines.compile import Compiled
from serenity_mlir.pipelines.timelines import counted_graph
from serenity_mlir.random_orders import random_peaks
from serenity_mlir.views import RandomOrders, Shown

_SEED = 0
_MOST_ORDERS, _MOST_STEPS = 1_000, 600_000


def shown(compiled: Compiled) -> Shown:
    """The report, peaks of random orders of the model's regions, and what must run before what.

    There are a thousand random orders for each region, and fewer where that takes more than a second or so.

    Raises:
        ValueError: Compilation stopped before phase `stream`.
    """
    if compiled.report is None or compiled.stream is None:
        raise ValueError("there is a report from phase stream on")
    drawn, edges = [], {}
    for item in compiled.stream.schedules:
        graph = counted_graph(item, whole=compiled.stream.whole is not None)
        if item.role == "model" and graph is not None and graph.ops and item.schedule is not None:
            count = max(min(_MOST_ORDERS, _MOST_STEPS // len(graph.ops)), 1)
            peaks = random_peaks(graph, count, seed=_SEED)
            drawn.append(RandomOrders(item.region, _SEED, tuple(peaks.items())))
            edges[item.region] = _edges(graph, item.schedule.order)
    return Shown(compiled.report, tuple(drawn), _graph_name(compiled), edges)


def _edges(graph: MemoryGraph, order: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Pairs of steps, by the second and then by the first."""
    step = {op: number for number, op in enumerate(order)}
    return tuple(
        (first, step[op]) for op in order for first in sorted(step[pred] for pred in graph.preds[op])
    )


def _graph_name(compiled: Compiled) -> str:
    """An ONNX graph's, or the function's."""
    if compiled.source.proto is not None:
        return compiled.source.proto.graph.name
    schedules = compiled.stream.schedules if compiled.stream is not None else ()
    return next((item.region.rpartition("#")[0] for item in schedules if item.role == "model"), "")
