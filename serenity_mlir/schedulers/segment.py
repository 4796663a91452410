"""What lies between two cut nodes, and the best baseline's order of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import live_bytes, live_ranges
from serenity_mlir.schedulers.baselines import BASELINES
from serenity_mlir.schedulers.budget import Budget


@dataclass(slots=True)
class Segment:
    """Ops up to and with a cut node, and an order of them.

    Attributes:
        ops: In file order.
        file_peak: The peak of file order.
        peak: The peak of `order`.
        order: The best baseline's, until something better is found.
        method: What found it.
    """

    ops: range
    file_peak: int
    peak: int
    order: Sequence[int]
    method: str


def by_baseline(graph: MemoryGraph, parts: Sequence[range], floor: int, budget: Budget) -> list[Segment]:
    """Segments in the order of the baseline that is best in each: all run them one after the other.

    Baselines that cannot matter, because no segment exceeds `floor` any more, are not tried, nor are
    any but file order once the budget is spent.
    """
    out: list[Segment] = []
    for name, baseline in BASELINES.items():
        if out and (budget.spent or all(segment.peak <= floor for segment in out)):
            break
        order = baseline(graph)
        peaks = peaks_of(graph, order, parts)
        if not out:
            out = [Segment(part, top, top, part, name) for part, top in zip(parts, peaks, strict=True)]
        for segment, top in zip(out, peaks, strict=True):
            if top < segment.peak:
                segment.peak, segment.method = top, name
                segment.order = order[segment.ops.start : segment.ops.stop]
    return out


def peaks_of(graph: MemoryGraph, order: Sequence[int], parts: Sequence[range]) -> list[int]:
    """The peak of `order` in each part of its steps."""
    live = live_bytes(live_ranges(graph, order), len(order))
    return [max(live[part.start : part.stop]) for part in parts]
