"""Order and arena judged together: packing can erase what scheduling won."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

from serenity_mlir.arena import ArenaPlan, plan
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import live_ranges, peak
from serenity_mlir.schedulers import DEFAULT_METHOD, Schedule, schedule
from serenity_mlir.schedulers.baselines import BASELINES

# Shares of the time limit; what one does not use the next may.
_ORDER, _FIRST_PLAN = 0.7, 0.2


def schedule_and_plan(
    graph: MemoryGraph, *, alignment: int, time_limit: float, method: str = DEFAULT_METHOD
) -> tuple[Schedule, ArenaPlan]:
    """The order with the smallest arena that was found, and that arena.

    The order of least peak comes first. Where its arena has gaps that the planner cannot close,
    file order and the other baselines are tried too: a higher peak may pack tighter. The
    schedule's bound stays the bound on the peak of any order, hence on any arena.

    Args:
        graph: What to order.
        alignment: Bytes that offsets are multiples of.
        time_limit: Wall time for everything, in seconds.
        method: How the order of least peak is looked for, one of `schedulers.METHODS`.
    """
    began = perf_counter()
    found = schedule(graph, method=method, time_limit=_ORDER * time_limit)
    left = max(time_limit - (perf_counter() - began), 0.0)
    share = left if not found.peak else _FIRST_PLAN / (1 - _ORDER) * left
    arena = plan(live_ranges(graph, found.order), alignment=alignment, time_limit=share)
    if arena.size <= found.peak:
        return found, arena
    for name, order in _others(graph, found.order):
        left = time_limit - (perf_counter() - began)
        if left <= 0:
            break
        height = peak(graph, order)
        if height >= arena.size:
            continue
        packed = plan(live_ranges(graph, order), alignment=alignment, time_limit=left / 2)
        if packed.size < arena.size:
            arena = packed
            found = replace(found, order=order, peak=height, method=f"{name} (packs tighter)")
    return found, arena


def _others(graph: MemoryGraph, tried: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, baseline in BASELINES.items():
        order = baseline(graph)
        if order != tried:
            yield name, order
