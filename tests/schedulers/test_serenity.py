"""SERENITY's parts against brute force, against the default, and against their limits."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import dataflow, graphs, local, optimum, twins

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers import METHODS, schedule
from serenity_mlir.schedulers.baselines import BASELINES, kahn
from serenity_mlir.schedulers.bounds import lower_bound
from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.problem import Problem
from serenity_mlir.schedulers.serenity.dp import Outcome, dynamic_programming
from serenity_mlir.schedulers.serenity.soft_budget import Attempt, adaptive_soft_budgeting
from serenity_mlir.schedulers.side import Side

PARTS = [method for method in METHODS if method != "default"]
PLENTY = 10**9


def unlimited() -> Budget:
    return Budget(float("inf"), PLENTY)


def side(graph: MemoryGraph) -> Side:
    return Side(Problem.of(graph), backward=False)


def cells(count: int, seed: int = 0) -> MemoryGraph:
    """Cells of 10 ops, each behind the one before it."""
    preds: list[list[int]] = []
    sizes = []
    for cell in range(count):
        start = len(preds)
        part = local(10, 5, seed + cell)
        used = {pred for links in part.preds for pred in links}
        for op, links in enumerate(part.preds):
            preds.append([start + pred for pred in links] or ([start - 1] if start else []))
            sizes.append(part.buffers[op].size)
        preds.append([start + op for op in range(10) if op not in used])
        sizes.append(20)
    return dataflow(preds, sizes)


@pytest.mark.parametrize("method", PARTS)
@settings(max_examples=400)
@given(graph=graphs(8))
def test_parts_are_optimal(method: str, graph: MemoryGraph) -> None:
    found = schedule(graph, method=method)
    assert graph.is_legal(found.order)
    assert peak(graph, found.order) == found.peak == found.lower_bound == optimum(graph)


@pytest.mark.parametrize("method", PARTS)
@settings(max_examples=30)
@given(graph=twins())
def test_parts_are_optimal_among_identical_branches(method: str, graph: MemoryGraph) -> None:
    found = schedule(graph, method=method)
    assert found.peak == found.lower_bound == optimum(graph)


@pytest.mark.parametrize("method", PARTS)
@pytest.mark.parametrize("seed", range(4))
def test_parts_agree_with_the_default(method: str, seed: int) -> None:
    graph = local(30, 8, seed)
    found = schedule(graph, method=method)
    assert graph.is_legal(found.order)
    assert found.optimal
    assert found.method == method
    assert found.peak == peak(graph, found.order) == schedule(graph).peak


def test_divide_and_conquer_needs_fewer_states() -> None:
    """The sum over the cells, where the whole has as many: a segment's signatures are the whole's."""
    graph = cells(6)
    undivided, divided = schedule(graph, method="dp"), schedule(graph, method="dp+dc")
    assert undivided.peak == divided.peak == schedule(graph).peak
    assert undivided.segments == 1
    assert divided.segments > 6
    assert divided.optimal


@settings(max_examples=200)
@given(graphs(8))
def test_dp_memoises_each_zero_indegree_set_once(graph: MemoryGraph) -> None:
    """The states are the downsets: what has run, and what is ready then, name each other."""
    before = [sum(1 << pred for pred in preds) for preds in graph.preds]
    downsets = sum(
        all(not before[op] & ~done for op in graph.file_order if done >> op & 1)
        for done in range(1 << len(graph.ops))
    )
    assert dynamic_programming(side(graph), unlimited()).states == downsets


@settings(max_examples=300)
@given(graphs(8), st.integers(0, 60))
def test_a_soft_budget_keeps_the_optimum_or_proves_that_it_is_higher(graph: MemoryGraph, budget: int) -> None:
    best = optimum(graph)
    result = dynamic_programming(side(graph), unlimited(), soft_budget=budget)
    if best <= budget or not graph.ops:
        assert result.outcome is Outcome.SOLUTION
        assert peak(graph, result.order) == best
    else:
        assert result.outcome is Outcome.NO_SOLUTION
        assert budget < result.bound <= best


@settings(max_examples=300)
@given(graphs(8), st.integers(1, 12), st.sampled_from(PARTS))
def test_a_part_cut_short_tells_the_truth(graph: MemoryGraph, states: int, method: str) -> None:
    found = schedule(graph, method=method, max_states=states)
    assert graph.is_legal(found.order)
    assert found.lower_bound <= optimum(graph) <= found.peak == peak(graph, found.order)
    assert found.states <= states
    if not found.optimal:
        assert found.peak <= min(peak(graph, baseline(graph)) for baseline in BASELINES.values())


def test_what_ran_out_is_said_not_hidden() -> None:
    graph = local(60, 30, 0)
    found = schedule(graph, method="dp", max_states=2000)
    baselines = {name: peak(graph, baseline(graph)) for name, baseline in BASELINES.items()}
    assert found.peak == baselines[found.method] == min(baselines.values())
    assert found.gap > 0
    assert found.states == 2000
    assert found.lower_bound >= lower_bound(graph)


def fan() -> MemoryGraph:
    """Eight branches, wide and then narrow. Of its orders Kahn's is the worst: all are wide at once."""
    preds = [[], *[[0]] * 8, *([op] for op in range(1, 9)), range(9, 17)]
    return dataflow(preds, [1, *[100] * 8, *[1] * 8, 1])


KAHN, BEST = 801, 108


def attempts(states: int, step_time_limit: float) -> list[Attempt]:
    graph = fan()
    assert peak(graph, kahn(graph)) == KAHN
    found = adaptive_soft_budgeting(
        side(graph), Budget(float("inf"), states), hard_budget=KAHN, step_time_limit=step_time_limit
    )
    assert peak(graph, found[-1].result.order) == BEST
    return found


def test_the_hard_budget_is_enough() -> None:
    (only,) = attempts(PLENTY, 60.0)
    assert (only.soft_budget, only.result.outcome) == (KAHN, Outcome.SOLUTION)


def test_a_budget_that_prunes_too_little_is_halved() -> None:
    """All 6,562 states are too many at first, those with up to four wide branches still are."""
    found = attempts(12_000, 60.0)
    assert [attempt.soft_budget for attempt in found] == [801, 400, 200]
    assert [attempt.result.outcome.value for attempt in found] == ["timeout", "timeout", "solution"]


def test_a_budget_that_is_too_small_is_raised_and_so_is_a_step_time_that_is() -> None:
    found = attempts(PLENTY, 1e-9)
    assert found[0].result.outcome is Outcome.TIMEOUT
    assert {attempt.result.outcome for attempt in found} == set(Outcome)
    for one, two in pairwise(found):
        if one.result.outcome is Outcome.NO_SOLUTION:
            assert one.soft_budget < one.result.bound <= two.soft_budget
            assert one.result.bound <= BEST
        elif two.soft_budget == one.soft_budget:
            assert two.step_time_limit == 2 * one.step_time_limit


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no scheduling method 'dc': methods are default, dp, "):
        schedule(fan(), method="dc")
