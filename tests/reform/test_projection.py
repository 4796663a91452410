"""Z-steps: the projection onto all budgets, and the published penalty."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_chains import chain, groups_of_chain

from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.budgets import Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.penalty import penalised
from serenity_mlir.reform.profile import profile
from serenity_mlir.reform.projection import project

Gates = dict[int, np.ndarray]
BUDGETED: tuple[Kind, ...] = ("macs", "memory", "energy")


def costs_of(sizes: list[int]) -> CostModel:
    network = network_of(chain(sizes, (4,), image=(2, 4, 4), weights=False))
    return CostModel(network, profile("horowitz45"), groups_of_chain(network))


def random_gates(sizes: list[int], seed: int) -> Gates:
    rng = np.random.default_rng(seed)
    return {index: rng.normal(0.8, 0.4, size) for index, size in enumerate(sizes)}


def counts(keep: Gates) -> dict[int, int]:
    return {group: int(mask.sum()) for group, mask in keep.items()}


def shares(costs: CostModel, values: list[float]) -> dict[Kind, float]:
    full = costs.total()
    return {name: share * getattr(full, name) for name, share in zip(BUDGETED, values, strict=False)}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 8), min_size=2, max_size=4),
    st.lists(st.floats(0.2, 1.1), min_size=1, max_size=3),
    st.integers(0, 99),
)
def test_every_budget_holds_or_nothing_is_left_to_drop(
    sizes: list[int], parts: list[float], seed: int
) -> None:
    costs, gates = costs_of(sizes), random_gates(sizes, seed)
    budgets = shares(costs, parts)
    found = project(gates, Estimate(costs), budgets)
    kept = counts(dict(found.keep))
    total = costs.total(kept)
    assert found.resources == total
    over = [name for name, limit in budgets.items() if getattr(total, name) > limit]
    assert list(found.unmet) == over
    if over:
        assert set(kept.values()) == {1}
    for group, mask in found.keep.items():
        dropped, left = gates[group][~mask] ** 2, gates[group][mask] ** 2
        assert left.size
        assert not dropped.size or dropped.max() <= left.min()
        if not over and dropped.size:  # one more channel of any group is too much
            more = costs.total({**kept, group: kept[group] + 1})
            assert any(getattr(more, name) > limit for name, limit in budgets.items())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(2, 6), min_size=2, max_size=3), st.floats(0.3, 0.9), st.integers(0, 99))
def test_little_worth_is_lost_against_all_choices(sizes: list[int], part: float, seed: int) -> None:
    """Beside brute force over all counts, which is the exact projection: sum of v² kept."""
    costs, gates = costs_of(sizes), random_gates(sizes, seed)
    budgets = shares(costs, [part, part])
    worth = {group: np.sort(values**2)[::-1].cumsum() for group, values in gates.items()}
    best = 0.0
    for each in product(*(range(1, size + 1) for size in sizes)):
        total = costs.total(dict(enumerate(each)))
        if all(getattr(total, name) <= limit for name, limit in budgets.items()):
            best = max(best, sum(worth[group][count - 1] for group, count in enumerate(each)))
    found = project(gates, Estimate(costs), budgets)
    kept = sum(float((gates[group][mask] ** 2).sum()) for group, mask in found.keep.items())
    assert kept <= best + 1e-9 or found.unmet
    assert kept >= 0.7 * best


def test_nothing_is_dropped_within_budget() -> None:
    costs = costs_of([4, 5])
    found = project(random_gates([4, 5], 0), Estimate(costs), shares(costs, [1.0, 1.0, 1.0]))
    assert all(mask.all() for mask in found.keep.values())
    assert not found.unmet


def test_the_worthless_channel_is_dropped_first() -> None:
    costs = costs_of([6, 6])
    gates = {0: np.ones(6), 1: np.ones(6)}
    gates[0][2] = 0.01
    found = project(gates, Estimate(costs), shares(costs, [0.95]))
    assert found.keep[0].tolist() == [True, True, False, True, True, True]
    assert found.keep[1].all()


@pytest.mark.parametrize("weight", [0.01, 1.0, 100.0])
def test_the_penalty_is_at_a_minimum(weight: float) -> None:
    sizes = [8, 12]
    costs, gates = costs_of(sizes), random_gates(sizes, 1)
    budgets = shares(costs, [0.5, 0.5])
    found = penalised(gates, Estimate(costs), budgets, weight)
    value = objective(found, gates, costs, budgets, weight)
    assert value < objective(gates, gates, costs, budgets, weight)
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = {group: part + rng.normal(0, 0.05, part.shape) for group, part in found.items()}
        assert objective(near, gates, costs, budgets, weight) > value - 1e-3 * abs(value)


def objective(z: Gates, v: Gates, costs: CostModel, budgets: dict[Kind, float], weight: float) -> float:
    """weight ‖C(Z)/b - 1‖² + ‖Z - V‖² / 2, with costs of whole channels interpolated in each group."""
    sums = {group: float(np.abs(part).sum()) for group, part in z.items()}
    low = {group: int(count) for group, count in sums.items()}
    penalty = 0.0
    for name, limit in budgets.items():
        value = 0.0
        for corner in product((0, 1), repeat=len(sums)):
            share = np.prod([abs(1 - bit - (sums[g] - low[g])) for g, bit in zip(sums, corner, strict=True)])
            kept = {group: low[group] + bit for group, bit in zip(sums, corner, strict=True)}
            value += float(share) * getattr(costs.total(kept), name)
        penalty += (value / limit - 1) ** 2
    return weight * penalty + sum(float(((z[group] - v[group]) ** 2).sum()) for group in z) / 2


def test_the_penalty_shrinks_gates_alike() -> None:
    """Why it is not the default: no gate is told from another, so none is chosen to be dropped."""
    costs = costs_of([8, 12])
    gates = {0: np.linspace(0.9, 1.1, 8), 1: np.linspace(0.9, 1.1, 12)}
    found = penalised(gates, Estimate(costs), shares(costs, [0.8]), 0.5)
    for group, values in gates.items():
        shifts = values - found[group]
        assert shifts.max() > 0
        np.testing.assert_allclose(shifts, shifts[0], rtol=1e-9)
