"""schedule() against brute force on small graphs of every kind."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import build, dataflow, graphs, optimum, twins

from serenity_mlir.graph import Buffer, MemoryGraph
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers import schedule
from serenity_mlir.schedulers.baselines import BASELINES, greedy
from serenity_mlir.schedulers.beam import beam_search
from serenity_mlir.schedulers.bounds import lower_bound, necessarily_live
from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.contract import contract
from serenity_mlir.schedulers.cuts import cut_nodes
from serenity_mlir.schedulers.improve import WindowedOrder, improve
from serenity_mlir.schedulers.problem import Partition, Problem
from serenity_mlir.schedulers.search import Search
from serenity_mlir.schedulers.side import Side, Sides
from serenity_mlir.schedulers.symmetry import order_twins

PLENTY = 10**9


def unlimited() -> Budget:
    return Budget(float("inf"), PLENTY)


def whole(graph: MemoryGraph) -> Problem:
    """The problem of a graph in one part, with implied predecessors left out."""
    return Partition(Problem.of(graph), [graph.file_order]).problem(0)


def some_orders(graph: MemoryGraph) -> list[tuple[int, ...]]:
    return [baseline(graph) for baseline in BASELINES.values()]


@given(graphs(5))
def test_brute_force_agrees_with_the_definition(graph: MemoryGraph) -> None:
    orders = permutations(graph.file_order)
    assert optimum(graph) == min(peak(graph, order) for order in orders if graph.is_legal(order))


@settings(max_examples=3000)
@given(graphs())
def test_schedule_is_optimal(graph: MemoryGraph) -> None:
    found = schedule(graph)
    assert graph.is_legal(found.order)
    assert peak(graph, found.order) == found.peak
    assert found.peak == found.lower_bound == optimum(graph)


@settings(max_examples=500)
@given(twins())
def test_schedule_of_identical_branches_is_optimal(graph: MemoryGraph) -> None:
    found = schedule(graph)
    assert graph.is_legal(found.order)
    assert peak(graph, found.order) == found.peak == found.lower_bound == optimum(graph)


@settings(max_examples=500)
@given(graphs())
def test_the_plain_search_is_optimal(graph: MemoryGraph) -> None:
    """Without baselines, bounds, cut nodes and contraction, which leave it little to do otherwise."""
    search = Search(Sides(whole(graph)), floor=0, ceiling=PLENTY)
    order = search.run(unlimited())
    assert order is not None
    assert graph.is_legal(order)
    assert peak(graph, order) == search.bound == optimum(graph)


@settings(max_examples=500)
@given(graphs())
def test_the_search_proves_what_is_below_its_ceiling(graph: MemoryGraph) -> None:
    best = optimum(graph)
    search = Search(Sides(whole(graph)), floor=0, ceiling=best)
    assert search.run(unlimited()) is None
    assert search.proven
    assert min(search.bound, search.ceiling) == best


@settings(max_examples=1000)
@given(graphs())
def test_contraction_keeps_the_optimum(graph: MemoryGraph) -> None:
    problem = contract(whole(graph), unlimited())
    search = Search(Sides(problem), floor=0, ceiling=PLENTY)
    nodes = search.run(unlimited())
    assert nodes is not None
    order = problem.ops_of(nodes)
    assert graph.is_legal(order)
    assert peak(graph, order) == problem.peak(nodes) == optimum(graph)


@settings(max_examples=500)
@given(twins())
def test_precedence_between_twins_keeps_the_optimum(graph: MemoryGraph) -> None:
    search = Search(Sides(order_twins(whole(graph))), floor=0, ceiling=PLENTY)
    order = search.run(unlimited())
    assert order is not None
    assert graph.is_legal(order)
    assert peak(graph, order) == optimum(graph)


@pytest.mark.parametrize(
    "graph",
    [
        # Four alike between a source and a sink; 1 and 3 share a buffer, 2 and 4 another. 1 and 2 do
        # not simply swap, and 1 3 2 4 is better than 1 2 3 4.
        build(
            [[], [0], [0], [0], [0], [1, 2, 3, 4]],
            [
                (Buffer("x", 5), [1, 3]),
                (Buffer("y", 5), [2, 4]),
                *((Buffer("b", 1), [i, 5]) for i in range(1, 5)),
            ],
        ),
        # Two that fork, a into b and c, d into e and f, swap; b and f share a buffer, c and e another.
        # b f c e is better than anything in which neither branch overtakes the other: b c f e, say.
        build(
            [[], [0], [1], [1], [0], [4], [4], [2, 3, 5, 6]],
            [
                (Buffer("x", 5), [2, 6]),
                (Buffer("y", 5), [3, 5]),
                *((Buffer("head", 1), [head, head + 1, head + 2]) for head in (1, 4)),
                *((Buffer("left", 2), [left, 7]) for left in (2, 5)),
            ],
        ),
    ],
    ids=["crossed", "forked"],
)
def test_twins_that_must_not_be_ordered(graph: MemoryGraph) -> None:
    search = Search(Sides(order_twins(whole(graph))), floor=0, ceiling=PLENTY)
    order = search.run(unlimited())
    assert order is not None
    assert peak(graph, order) == optimum(graph)


@settings(max_examples=500)
@given(graphs(14), st.sampled_from([(2, 3), (4,), (5, 8)]))
def test_windows_only_ever_lower_the_peak(graph: MemoryGraph, widths: tuple[int, ...]) -> None:
    """Windows keep their own account of live bytes: if that is wrong, the peak rises unnoticed."""
    problem = contract(whole(graph), unlimited())
    order = range(len(problem.nodes))
    better = improve(problem, order, floor=0, budget=Budget(float("inf"), 20_000), widths=widths)
    assert graph.is_legal(problem.ops_of(better))
    assert peak(graph, problem.ops_of(better)) <= problem.peak(order)


@settings(max_examples=500)
@given(graphs(14), st.data())
def test_a_window_leaves_the_account_of_live_bytes_right(graph: MemoryGraph, data: st.DataObject) -> None:
    problem = whole(graph)
    current = WindowedOrder(problem, graph.file_order)
    for _ in range(3 if graph.ops else 0):
        step = data.draw(st.integers(0, len(graph.ops) - 1))
        window = range(step, min(len(graph.ops), step + data.draw(st.integers(1, 6))))
        top = max(current.hills[step : window.stop])
        lowered = current.lower(window, top, 0, unlimited())
        assert (current.before, current.hills) == problem.profile(current.order)
        assert lowered == (max(current.hills[step : window.stop]) < top)


@given(graphs())
def test_a_window_over_everything_is_an_exact_search(graph: MemoryGraph) -> None:
    order = improve(whole(graph), graph.file_order, floor=0, budget=unlimited(), widths=[16])
    assert peak(graph, order) == optimum(graph)


@given(graphs(), st.booleans())
def test_a_beam_over_everything_is_an_exact_search(graph: MemoryGraph, backward: bool) -> None:
    side = Side(whole(graph), backward=backward)
    order = beam_search(side, 1 << len(graph.ops), floor=0, budget=unlimited())
    assert order is not None
    assert peak(graph, order[::-1] if backward else order) == optimum(graph)


@settings(max_examples=500)
@given(graphs())
def test_bounds_hold(graph: MemoryGraph) -> None:
    assert lower_bound(graph) <= optimum(graph)
    for order in some_orders(graph):
        _, found = Problem.of(graph).profile(order)
        assert all(found[step] >= necessarily_live(graph)[op] for step, op in enumerate(order))


@settings(max_examples=300)
@given(graphs())
def test_a_search_cut_short_tells_the_truth(graph: MemoryGraph) -> None:
    for states in (1, 2, 4, 8):
        found = schedule(graph, max_states=states)
        assert graph.is_legal(found.order)
        assert found.states <= states
        assert found.lower_bound <= optimum(graph) <= found.peak == peak(graph, found.order)


@given(graphs(20))
def test_never_worse_than_a_baseline(graph: MemoryGraph) -> None:
    found = schedule(graph)
    for order in some_orders(graph):
        assert graph.is_legal(order)
        assert found.peak <= peak(graph, order)
    assert found.optimal


@given(graphs(20))
def test_file_order_stays_where_nothing_is_better(graph: MemoryGraph) -> None:
    found = schedule(graph)
    if found.peak == peak(graph, graph.file_order):
        assert found.order == graph.file_order
        assert found.method == "file-order"


def test_a_segment_stays_in_file_order_where_another_is_worse() -> None:
    """Breadth first is best in neither of two cells, but only in the larger does it matter."""
    cell, sizes = [[], [0], [0], [1], [2], [3, 4]], [1, 5, 5, 1, 1, 1]
    assert schedule(dataflow(cell, sizes)).order == (0, 1, 3, 2, 4, 5)
    larger = [[5], *([6 + pred for pred in preds] for preds in cell[1:])]
    found = schedule(dataflow([*cell, *larger], [*sizes, *(10 * size for size in sizes)]))
    assert found.order == (0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 10, 11)
    assert found.optimal


@given(graphs(20))
def test_results_are_deterministic(graph: MemoryGraph) -> None:
    first, second = schedule(graph), schedule(graph)
    assert (first.order, first.states, first.method) == (second.order, second.states, second.method)


@given(graphs(12))
def test_cut_nodes_are_those_comparable_with_all(graph: MemoryGraph) -> None:
    problem = Problem.of(graph)
    everything = (1 << len(problem.nodes)) - 1
    comparable = [
        node
        for node in range(len(problem.nodes))
        if problem.ancestors[node] | problem.descendants[node] | 1 << node == everything
    ]
    assert cut_nodes(problem.preds, problem.succs) == comparable


@given(graphs(12))
def test_greedy_takes_the_op_that_leaves_the_fewest_bytes(graph: MemoryGraph) -> None:
    problem = Problem.of(graph)
    done: list[int] = []

    def live_after(ops: list[int]) -> int:
        reached = set(ops)
        return problem.base + sum(
            s.size
            for s in problem.storages
            if (s.live_in or reached & set(s.spans)) and (s.live_out or set(s.spans) - reached)
        )

    while len(done) < len(graph.ops):
        ready = [op for op in graph.file_order if op not in done and set(graph.preds[op]) <= set(done)]
        done.append(min(ready, key=lambda op: live_after([*done, op])))
    assert greedy(graph) == tuple(done)


def test_the_empty_graph() -> None:
    found = schedule(MemoryGraph((), (), ()))
    assert (found.order, found.peak, found.lower_bound, found.segments) == ((), 0, 0, 0)


@pytest.mark.parametrize("size", [0, 7])
def test_buffers_that_no_op_touches(size: int) -> None:
    """Live throughout if live at both ends, else never: as `liveness` has it."""
    graph = build([[], [0]], [(Buffer("through", size, True, True), []), (Buffer("in", 5, live_in=True), [])])
    found = schedule(graph)
    assert found.peak == found.lower_bound == size
