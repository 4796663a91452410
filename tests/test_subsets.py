"""The search for the subset of least cost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from serenity_mlir.subsets import best_subset

Cost = Callable[[frozenset[int]], float]


@st.composite
def costs(draw: st.DrawFn, most: int) -> tuple[list[int], Cost]:
    """Items and a cost: a height less what some items save, together or alone, plus what some cost."""
    count = draw(st.integers(0, most))
    groups = st.frozensets(st.integers(0, max(count - 1, 0)), max_size=3)
    terms = draw(st.lists(st.tuples(groups, st.integers(-5, 3)), max_size=8))

    def cost(subset: frozenset[int]) -> float:
        return 100 + sum(weight for group, weight in terms if group and group <= subset)

    return list(range(count)), cost


@given(costs(4))
def test_few_items_are_searched_exhaustively(problem: tuple[list[int], Cost]) -> None:
    items, cost = problem
    found = best_subset(items, cost, late=lambda: False)
    everything = [frozenset(c) for n in range(len(items) + 1) for c in combinations(items, n)]
    assert (cost(found), len(found)) == min((cost(subset), len(subset)) for subset in everything)


@given(costs(12))
def test_many_items_end_no_worse_than_none_or_all_and_minimal(problem: tuple[list[int], Cost]) -> None:
    items, cost = problem
    halves = [frozenset(items[: len(items) // 2])]
    found = best_subset(items, cost, late=lambda: False, starts=halves)
    assert cost(found) <= min(cost(frozenset()), cost(frozenset(items)), cost(halves[0]))
    assert all(cost(found - {item}) > cost(found) for item in found)


@given(costs(12), st.integers(0, 6))
def test_a_search_that_is_late_stops(problem: tuple[list[int], Cost], looks: int) -> None:
    items, cost = problem
    asked = 0

    def late() -> bool:
        nonlocal asked
        asked += 1
        return asked > looks

    tried: set[frozenset[int]] = set()

    def noted(subset: frozenset[int]) -> float:
        tried.add(subset)
        return cost(subset)

    found = best_subset(items, noted, late=late)
    assert cost(found) <= min(cost(frozenset()), cost(frozenset(items)))
    assert len(tried) <= looks + 2
