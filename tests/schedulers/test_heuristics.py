"""What answers without proof, beside the exact answer: never below it, and not far above."""

from __future__ import annotations

from functools import cache
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs, local, optimum

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.bench.scale_graphs import wired
from serenity_mlir.schedulers import schedule
from serenity_mlir.schedulers.beam import beam_search
from serenity_mlir.schedulers.bounds import lower_bound
from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.contract import contract
from serenity_mlir.schedulers.improve import improve
from serenity_mlir.schedulers.problem import Partition, Problem
from serenity_mlir.schedulers.search import Search
from serenity_mlir.schedulers.side import Side, Sides
from serenity_mlir.schedulers.window_bound import part_of, window_bound

SEEDS = range(20)


def whole(graph: MemoryGraph) -> Problem:
    return Partition(Problem.of(graph), [graph.file_order]).problem(0)


def beam(problem: Problem, width: int, *, backward: bool, floor: int = 0) -> list[int]:
    """A beam's order, from the first node to the last."""
    side = Side(problem, backward=backward)
    order = beam_search(side, width, floor=floor, budget=Budget(float("inf"), 10**9))
    assert order is not None
    return order[::-1] if backward else order


@cache
def exact(seed: int) -> int:
    found = schedule(wired(32, seed))
    assert found.optimal
    return found.peak


@settings(max_examples=300)
@given(graphs(10), st.integers(1, 5), st.booleans(), st.integers(0, 30))
def test_beams_are_legal_and_never_below_the_optimum(
    graph: MemoryGraph, width: int, backward: bool, floor: int
) -> None:
    order = beam(whole(graph), width, backward=backward, floor=floor)
    assert graph.is_legal(order)
    assert peak(graph, order) >= optimum(graph) >= lower_bound(graph)


@pytest.mark.parametrize(("width", "above"), [(1, 0.3), (4, 0.14), (16, 0.07), (64, 0.025)])
def test_beams_come_near_the_optimum(width: int, above: float) -> None:
    """Measured over these graphs, as a mean: 25% above it, then 11%, 5% and 1.4%."""
    ratios = []
    for seed in SEEDS:
        graph = wired(32, seed)
        ratios.append(peak(graph, beam(whole(graph), width, backward=False)) / exact(seed))
    assert min(ratios) >= 1
    assert mean(ratios) < 1 + above


def test_windows_bring_a_beam_nearer() -> None:
    before, after = [], []
    for seed in SEEDS:
        problem = whole(wired(32, seed))
        order = beam(problem, 4, backward=False)
        better = improve(problem, order, floor=0, budget=Budget(float("inf"), 10**6), widths=[8, 16])
        before.append(problem.peak(order) / exact(seed))
        after.append(problem.peak(better) / exact(seed))
    assert min(after) >= 1
    assert mean(after) - 1 < 0.7 * (mean(before) - 1)


@pytest.mark.parametrize(("states", "above"), [(400, 0.05), (800, 0.015)])
def test_a_schedule_cut_short_is_near_the_optimum_and_its_gap_holds(states: int, above: float) -> None:
    """The whole anytime path: baselines, search, beams and windows. Measured: 4.3% and 0.7% above."""
    ratios = []
    for seed in SEEDS:
        found = schedule(wired(32, seed), max_states=states)
        assert found.states <= states
        assert found.lower_bound <= exact(seed) <= found.peak
        assert exact(seed) >= (1 - found.gap) * found.peak - 1e-9
        ratios.append(found.peak / exact(seed))
    assert mean(ratios) < 1 + above


@settings(max_examples=500)
@given(graphs(10), st.data())
def test_a_part_needs_no_more_than_the_whole(graph: MemoryGraph, data: st.DataObject) -> None:
    problem = contract(whole(graph), Budget(float("inf"), 10**9))
    count = len(problem.nodes)
    start = data.draw(st.integers(0, max(0, count - 1)))
    nodes = range(count)[start : start + data.draw(st.integers(1, 6))]
    if nodes:
        search = Search(Sides(part_of(problem, nodes)), floor=0, ceiling=10**9)
        assert search.run(Budget(float("inf"), 10**9)) is not None
        assert search.bound <= optimum(graph)
        if len(nodes) == count:
            assert search.bound == optimum(graph)


@settings(max_examples=500)
@given(graphs(10), st.sampled_from([(1,), (2, 4), (3, 5)]), st.integers(0, 9))
def test_bounds_by_windows_hold(graph: MemoryGraph, widths: tuple[int, ...], states: int) -> None:
    if graph.ops:
        best = optimum(graph)
        budget = Budget(float("inf"), 10**states)
        problem = whole(graph)
        bound = window_bound(problem, graph.file_order, floor=0, enough=10**9, budget=budget, widths=widths)
        assert bound <= best


def test_a_window_proves_what_the_whole_is_too_large_for() -> None:
    graph = local(1000, 20, 0)
    found = schedule(graph, time_limit=100)  # it ends with the proof, seconds in
    assert found.optimal
    assert lower_bound(graph) < 0.6 * found.peak
