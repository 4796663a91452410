"""Budgets on what is compiled: what is measured counts, and estimates are put right by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_chains import POOL, chain, groups_of_chain

from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.aim import Aim, Measured
from serenity_mlir.reform.arena import ArenaModel
from serenity_mlir.reform.budgets import ATTEMPTS, Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.profile import profile
from serenity_mlir.reform.projection import project

SIZES = (6, 8, 5)
Masks = Mapping[int, np.ndarray]


def estimate() -> Estimate:
    network = network_of(chain((*SIZES[:2], POOL), (SIZES[2], 3), image=(2, 8, 8), weights=False))
    groups = groups_of_chain(network)
    return Estimate(CostModel(network, profile("horowitz45"), groups), ArenaModel(network, groups))


@dataclass
class Compiler:
    """What stands for one: measures as an estimate of its own says, and by a rule that the aim does not know.

    Attributes:
        ram: From the estimated RAM to the one that is measured, given how many channels there are.
        stuck: Channels that cannot leave, as soon as they are masked.
        asked: Counts of each variant that was measured.
    """

    ram: Callable[[float, int], float]
    stuck: frozenset[tuple[int, int]] = frozenset()
    asked: list[dict[int, int]] = field(default_factory=list)
    truth: Estimate = field(default_factory=estimate)

    def __call__(self, masks: Masks) -> Measured:
        kept = {group: int(mask.sum()) for group, mask in masks.items()}
        self.asked.append(kept)
        figures = self.truth.of(kept)
        figures["ram"] = self.ram(figures["ram"], sum(kept.values()))
        stuck = frozenset((group, channel) for group, channel in self.stuck if not masks[group][channel])
        return Measured(figures, stuck=stuck)


def gates(seed: int) -> Masks:
    rng = np.random.default_rng(seed)
    return {index: np.asarray(rng.normal(0.8, 0.4, size)) for index, size in enumerate(SIZES)}


def limits(aims: Estimate, **shares: float) -> dict[Kind, float]:
    kinds: tuple[Kind, ...] = ("macs", "ram", "rom")
    return {kind: shares[kind] * aims.of({})[kind] for kind in kinds if kind in shares}


@settings(max_examples=30, deadline=None)
@given(
    st.floats(0.35, 1.0),
    st.floats(0.35, 1.0),
    st.sampled_from([0.7, 1.0, 1.3]),
    st.integers(0, 40),
    st.integers(0, 99),
)
def test_what_is_settled_on_holds_as_measured(
    ram: float, rom: float, ratio: float, each: int, seed: int
) -> None:
    """The compiler takes another share than is estimated, and something for each channel."""
    compiler = Compiler(lambda value, count: ratio * value + each * count)
    aim = Aim(estimate(), limits(compiler.truth, ram=ram, rom=rom, macs=0.8))
    found = aim.settle(gates(seed), compiler)
    measured = compiler(found.keep)
    if aim.excess(measured):
        assert found.unmet
        assert set(compiler.asked[-1].values()) == {1}
    else:
        assert all(measured.figures[kind] <= limit for kind, limit in aim.limits.items())
        assert len(compiler.asked) <= ATTEMPTS + 1


def test_a_variant_as_large_is_measured_once() -> None:
    compiler = Compiler(lambda value, _: 1.2 * value)
    aim = Aim(estimate(), limits(compiler.truth, ram=0.7))
    first = aim.settle({group: np.ones(size) for group, size in enumerate(SIZES)}, compiler)
    assert len(compiler.asked) >= 1
    asked = len(compiler.asked)
    other = {group: part[::-1].copy() for group, part in first.keep.items()}
    second = aim.settle(
        {group: 0.9 + 0.1 * part.astype(np.float64) for group, part in other.items()}, compiler
    )
    assert len(compiler.asked) == asked
    for group, mask in second.keep.items():
        np.testing.assert_array_equal(mask, other[group])


def test_channels_that_cannot_leave_stay_and_others_go() -> None:
    compiler = Compiler(lambda value, _: value, stuck=frozenset((0, channel) for channel in range(SIZES[0])))
    aim = Aim(estimate(), limits(compiler.truth, macs=0.5))
    found = aim.settle(gates(3), compiler)
    assert found.keep[0].all()
    assert not found.unmet
    assert compiler(found.keep).figures["macs"] <= aim.limits["macs"]


def test_an_estimate_that_is_too_high_gives_back_what_was_dropped_for_it() -> None:
    compiler = Compiler(lambda value, _: 0.1 * value)
    aim = Aim(estimate(), {"ram": 0.099 * compiler.truth.of({})["ram"]})
    found = aim.settle(gates(0), compiler)
    assert set(compiler.asked[0].values()) == {1}
    assert sum(int(mask.sum()) for mask in found.keep.values()) > sum(SIZES) // 2
    assert not aim.excess(compiler(found.keep))


def test_a_variant_that_breaks_a_budget_with_other_weights_is_aimed_below() -> None:
    compiler = Compiler(lambda value, _: value)
    aim = Aim(estimate(), limits(compiler.truth, ram=0.8))
    first = aim.settle(gates(0), compiler)
    heavier = Compiler(lambda value, _: 1.1 * value)
    aim.broken(first.keep, heavier(first.keep), 1)
    second = aim.settle(gates(0), heavier)
    assert not aim.excess(heavier(second.keep))
    assert aim.excess(heavier(first.keep))


@pytest.mark.parametrize("kind", ["ram", "rom"])
def test_no_layer_is_spared_where_a_budget_is_out_of_reach(kind: Kind) -> None:
    found = project(gates(1), estimate(), {kind: 0.0})
    assert found.unmet == (kind,)
    assert {int(mask.sum()) for mask in found.keep.values()} == {1}
