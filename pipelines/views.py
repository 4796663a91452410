"""From one compilation to what pictures, pages and traces show."""

from __future__ import annotations

from serenity_mlir.pipelines.lower_stream import StreamResult
from serenity_mlir.pipelines.timelines import counted_graph
from serenity_mlir.random_orders import random_peaks
from serenity_mlir.report import Report
from serenity_mlir.views import RandomOrders, Shown

_SEED = 0
_MOST_ORDERS, _MOST_STEPS = 1_000, 600_000


def shown(report: Report, result: StreamResult) -> Shown:
    """The report with peaks of random orders of the model's regions.

    There are a thousand for each region, and fewer where that takes more than a second or so.
    """
    drawn = []
    for item in result.schedules:
        graph = counted_graph(item, whole=result.whole is not None)
        if item.role == "model" and graph is not None and graph.ops:
            count = max(min(_MOST_ORDERS, _MOST_STEPS // len(graph.ops)), 1)
            peaks = random_peaks(graph, count, seed=_SEED)
            drawn.append(RandomOrders(item.region, _SEED, tuple(peaks.items())))
    return Shown(report, tuple(drawn))
