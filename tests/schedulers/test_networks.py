"""schedule() on graphs of the size and the shape of real networks, and against its limits."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from types import ModuleType

import pytest
from ortools.sat.python import cp_model
from small_graphs import build, dataflow, local

from serenity_mlir.graph import Buffer, MemoryGraph
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers import schedule
from serenity_mlir.schedulers.baselines import BASELINES


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The benchmark script, whose graphs and table these tests use."""
    path = Path(__file__).parents[2] / "benchmarks" / "schedule_ws.py"
    spec = importlib.util.spec_from_file_location("schedule_ws", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
def test_randomly_wired_cells_are_solved(bench: ModuleType, unit: bool) -> None:
    for seed in range(20):
        graph = bench.watts_strogatz(32, seed, unit=unit)
        found = schedule(graph)
        assert graph.is_legal(found.order)
        assert found.peak == peak(graph, found.order)
        assert found.optimal
        assert found.peak <= min(peak(graph, baseline(graph)) for baseline in BASELINES.values())
        assert found.states < 5000  # not a clock: what they take is 100 to 1,400


def test_the_benchmark_reports(bench: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bench.main(["--nodes", "12", "--seeds", "3", "--json", str(tmp_path / "new" / "report.json")])
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [["12", "unit", "3/3"], ["12", "random", "3/3"]]
    report = json.loads((tmp_path / "new" / "report.json").read_text())
    assert [result["seed"] for result in report["graphs"]["12 random"]] == [0, 1, 2]


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
    start = process_time()
    found = schedule(graph)
    assert (
        process_time() - start < length / 5000
    )  # measured: a fifth of that; quadratic work takes far longer
    assert found.optimal
    assert found.order == graph.file_order
    assert found.segments == length


@pytest.mark.parametrize(
    "hard",
    [lambda b: b.watts_strogatz(96, 0, unit=False), lambda _: local(2000, 20, 0)],
    ids=["ws96", "local2000"],
)
def test_the_time_limit_is_kept(bench: ModuleType, hard: Callable[[ModuleType], MemoryGraph]) -> None:
    graph = hard(bench)
    start, worked = perf_counter(), process_time()
    found = schedule(graph, time_limit=2.0)
    assert process_time() - worked < 2.2  # on a busy machine the wall clock also measures the others
    assert perf_counter() - start < 4.0
    assert not found.optimal
    assert 0 < found.gap < 1
    assert graph.is_legal(found.order)
    assert found.peak == peak(graph, found.order)
    baselines = min(peak(graph, baseline(graph)) for baseline in BASELINES.values())
    assert found.peak < 0.95 * baselines  # measured: 0.76 and 0.85


def test_the_state_limit_is_kept(bench: ModuleType) -> None:
    found = schedule(bench.watts_strogatz(64, 0, unit=False), max_states=500)
    assert not found.optimal
    assert found.states < 1500  # a chunk of one search goes beyond it


def test_no_recursion(bench: ModuleType) -> None:
    graph = local(1500, 6, 1)
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        found = schedule(graph, time_limit=2.0)
    finally:
        sys.setrecursionlimit(depth)
    assert graph.is_legal(found.order)


def cp_sat(graph: MemoryGraph) -> int:
    """The smallest peak by constraint programming: an op's place in time, and live storage below the peak."""
    model = cp_model.CpModel()
    count = len(graph.ops)
    at = [model.new_int_var(0, count - 1, f"at{op}") for op in range(count)]
    model.add_all_different(at)
    for op, preds in enumerate(graph.preds):
        for pred in preds:
            model.add(at[pred] < at[op])
    top = model.new_int_var(0, sum(buffer.size for buffer in graph.buffers), "peak")
    lives, sizes = [], []
    for index, buffer in enumerate(graph.buffers):
        users = [at[op] for op, item in enumerate(graph.ops) if index in item.touches]
        first, end = model.new_int_var(0, count, f"first{index}"), model.new_int_var(0, count, f"end{index}")
        length = model.new_int_var(0, count, f"length{index}")
        model.add_min_equality(first, users)
        model.add_max_equality(end, [user + 1 for user in users])
        lives.append(model.new_interval_var(first, length, end, f"live{index}"))
        sizes.append(buffer.size)
    model.add_cumulative(lives, sizes, top)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.max_time_in_seconds = 60
    assert solver.solve(model) == cp_model.OPTIMAL
    return int(solver.objective_value)


@pytest.mark.parametrize("nodes", [12, 14, 16])
def test_cp_sat_agrees(bench: ModuleType, nodes: int) -> None:
    graph = bench.watts_strogatz(nodes, nodes, unit=False)
    assert schedule(graph).peak == cp_sat(graph)
