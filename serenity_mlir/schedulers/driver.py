"""The scheduler: baselines, cut nodes, bounds, then an exact search of what they leave open."""

from __future__ import annotations

from time import perf_counter

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import live_bytes, live_ranges, peak
from serenity_mlir.schedulers.baselines import BASELINES
from serenity_mlir.schedulers.bounds import necessarily_live
from serenity_mlir.schedulers.cuts import segments
from serenity_mlir.schedulers.problem import Partition
from serenity_mlir.schedulers.result import Schedule
from serenity_mlir.schedulers.search import Search

DEFAULT_TIME_LIMIT = 10.0
DEFAULT_MAX_STATES = 1_000_000


def schedule(
    graph: MemoryGraph, *, time_limit: float = DEFAULT_TIME_LIMIT, max_states: int = DEFAULT_MAX_STATES
) -> Schedule:
    """The order of `graph` with the smallest peak, or the best found within the limits.

    Never worse than any baseline. File order is returned unless another order is better.

    Args:
        graph: What to order.
        time_limit: Wall time to spend, in seconds.
        max_states: Search states to visit, about 300 bytes each for graphs of 100 ops.
    """
    start = perf_counter()
    deadline = start + time_limit
    parts = segments(graph.preds, graph.succs)
    bounds = necessarily_live(graph)
    floor = max(bounds, default=0)
    best: list[tuple[int, str, tuple[int, ...]]] = []
    for name, baseline in BASELINES.items():
        order = baseline(graph)
        bytes_at = live_bytes(live_ranges(graph, order), len(order))
        found = [
            (max(bytes_at[part.start : part.stop]), name, order[part.start : part.stop]) for part in parts
        ]
        best = [min(a, b, key=lambda x: x[0]) for a, b in zip(best, found, strict=True)] if best else found

    partition = Partition(graph, parts)
    states, lower = 0, floor
    hard = sorted((i for i in range(len(parts)) if best[i][0] > floor), key=lambda i: -best[i][0])
    for index in hard:
        if best[index][0] <= lower:
            continue
        problem = partition.problem(index)
        hunt = Search(problem, floor=lower, ceiling=best[index][0])
        nodes = hunt.run(deadline=deadline, max_states=max_states - states)
        states += hunt.states
        lower = max(lower, min(hunt.level,hunt.ceiling))
        if nodes is not None:
            found_order = tuple(parts[index][node] for node in nodes)
            best[index] = hunt.level, "exact", found_order
    top = max((item[0] for item in best), default=0)
    methods, ops = set(), list[int]()
    for part, (_, name, order) in zip(parts, best, strict=True):
        ops += order
        methods.add(name)
    result = tuple(ops)
    if peak(graph, graph.file_order) == top:
        result, methods = graph.file_order, {"file-order"}
    return Schedule(
        result,
        top,
        lower,
        "exact" if "exact" in methods else "+".join(sorted(methods)) or "file-order",
        states,
        perf_counter() - start,
        len(parts),
    )
