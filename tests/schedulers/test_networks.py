"""schedule() on graphs of the size and the shape of real networks, and against its limits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from small_graphs import build, dataflow, local
from work_clock import WorkClock

from serenity_mlir.graph import Buffer, MemoryGraph
from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.bench.cp_sat import cp_sat_peak
from serenity_mlir.pipelines.bench.scale_graphs import wired
from serenity_mlir.schedulers import budget, driver, schedule
from serenity_mlir.schedulers.baselines import BASELINES
from serenity_mlir.schedulers.serenity import dp, scheduler


def fan(branches: int, *, deep: int = 1, shared: bool = False) -> MemoryGraph:
    """Identical branches 64, 4, 64, 4 … bytes, layer by layer, from one source into one sink."""
    last = 2 * deep * branches
    preds: list[list[int]] = [[] for _ in range(last + 2)]
    for op in range(1, last + 1):
        preds[op] = [max(0, op - branches)]
    preds[last + 1] = list(range(last + 1 - branches, last + 1))
    sizes = [8, *(64 if (op - 1) // branches % 2 == 0 else 4 for op in range(1, last + 1)), 16]
    graph = dataflow(preds, sizes)
    if not shared:
        return graph
    owners = [
        (b, [op for op, item in enumerate(graph.ops) if i in item.touches])
        for i, b in enumerate(graph.buffers)
    ]
    return build(preds, [*owners, (Buffer("shared", 50), [0, *preds[last + 1], last + 1])])


@pytest.mark.parametrize("unit", [True, False])
def test_randomly_wired_cells_are_solved(unit: bool) -> None:
    for seed in range(20):
        graph = wired(32, seed, unit=unit)
        found = schedule(graph)
        assert graph.is_legal(found.order)
        assert found.peak == peak(graph, found.order)
        assert found.optimal
        assert found.peak <= min(peak(graph, baseline(graph)) for baseline in BASELINES.values())
        assert found.states < 5000  # not a clock: what they take is 100 to 1,400


@pytest.mark.parametrize(
    ("graph", "best"),
    [
        (fan(24), 8 + 23 * 4 + 64),
        (fan(24, deep=2), 8 + 23 * 4 + 64),
        (fan(24, shared=True), 50 + 8 + 64 + 23 * 4),
    ],
    ids=["one", "two", "shared"],
)
def test_identical_branches_are_instant(graph: MemoryGraph, best: int) -> None:
    found = schedule(graph)
    assert found.peak == found.lower_bound == best
    assert found.states < 1000


@pytest.mark.parametrize("length", [3000, 20_000])
def test_long_chains(length: int) -> None:
    graph = dataflow([[op - 1] if op else [] for op in range(length)], [1 + op % 50 for op in range(length)])
    clock = WorkClock()
    with clock.going():
        found = schedule(graph)
    assert clock.lines < 300 * length  # 134 in both cases
    assert found.optimal
    assert found.order == graph.file_order
    assert found.segments == length


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WorkClock:
    """The clock of all schedulers: what they find until a limit is the same on every machine."""
    clock = WorkClock()
    modules: list[ModuleType] = [budget, driver, dp, scheduler]
    for module in modules:
        monkeypatch.setattr(module, "perf_counter", clock)
    return clock


@pytest.mark.parametrize(
    "hard",
    [lambda: wired(96, 0), lambda: local(2000, 40, 0)],
    ids=["ws96", "local2000"],
)
def test_the_time_limit_is_kept(hard: Callable[[], MemoryGraph], clock: WorkClock) -> None:
    graph = hard()
    with clock.going():
        found = schedule(graph, time_limit=2.0)
    assert clock() < 2.0
    assert not found.optimal
    assert 0 < found.gap < 1
    assert graph.is_legal(found.order)
    assert found.peak == peak(graph, found.order)
    baselines = min(peak(graph, baseline(graph)) for baseline in BASELINES.values())
    assert found.peak < 0.95 * baselines  # 0.91 and 0.73


@pytest.mark.parametrize(
    ("ops", "reach", "method", "limit"),
    [(8000, 4000, "default", 0.5), (8000, 4000, "dp", 0.5), (20_000, 20, "default", 1.0)],
)
def test_the_time_limit_is_kept_where_preparations_take_as_long(
    ops: int, reach: int, method: str, limit: float, clock: WorkClock
) -> None:
    graph = local(ops, reach, 0)
    with clock.going():
        found = schedule(graph, method=method, time_limit=limit)
    assert clock() < limit + 0.5  # the preparations alone take longer where they do not look at the clock
    assert not found.optimal
    assert graph.is_legal(found.order)


def test_the_state_limit_is_kept() -> None:
    found = schedule(wired(64, 0), max_states=500)
    assert found.states <= 500
    assert not found.optimal
    assert found.states < 1500  # a chunk of one search goes beyond it


def test_no_recursion() -> None:
    graph = local(1500, 6, 1)
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        found = schedule(graph, time_limit=2.0)
    finally:
        sys.setrecursionlimit(depth)
    assert graph.is_legal(found.order)


@pytest.mark.parametrize("nodes", [12, 14, 16])
def test_cp_sat_agrees(nodes: int) -> None:
    graph = wired(nodes, nodes)
    assert schedule(graph).peak == cp_sat_peak(graph, time_limit=60)
