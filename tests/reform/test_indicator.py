"""The priority indicator by hand, and what goes first by it."""

from __future__ import annotations

import numpy as np
import pytest
from plain_chains import POOL, chain, groups_of_chain

from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.budgets import Budgets
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.groups import ChannelGroup, Member
from serenity_mlir.reform.indicator import Sensitivity, priorities, share_masked
from serenity_mlir.reform.magnitude import magnitudes
from serenity_mlir.reform.masking import Masking, Ranking
from serenity_mlir.reform.network import Network
from serenity_mlir.reform.profile import profile
from serenity_mlir.reform.uniform import uniform_groups


def test_priority_by_hand() -> None:
    """Eq. 16 with two resources, of which one is exceeded twice as far."""
    found = priorities(
        np.array([0.1, 0.3, 0.3]),
        np.array([1.0, 0.5, 0.5]),
        {"memory": np.array([10.0, 20.0, 0.0]), "energy": np.array([2.0, 1.0, 0.0])},
        {"memory": 0.4, "energy": 0.2},
    )
    np.testing.assert_allclose(found, [0.1 / (0.4 * 0.5 + 0.2), 0.15 / (0.4 + 0.2 * 0.5), np.inf])


def test_sensitivity_between_shares_is_a_line_that_never_falls() -> None:
    found = Sensitivity((0.2, 0.4, 1.0), (0.1, 0.05, 0.7))
    assert found.index(0.0, 0.0) == 0.0
    assert found.index(0.1, 0.0) == pytest.approx(0.05)
    assert found.index(0.4, 0.0) == pytest.approx(0.1)  # noise does not make more masking lose less
    assert found.index(0.7, 0.0) == pytest.approx(0.4)
    assert found.index(0.0, 0.01) == 0.01


def test_shares_take_the_least_and_leave_one() -> None:
    scores = np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    assert share_masked(scores, 0.4).tolist() == [True, False, True, False, True]
    assert share_masked(scores, 1.0).tolist() == [True, False, False, False, False]


def small() -> tuple[Network, tuple[ChannelGroup, ...], Estimate]:
    network = network_of(chain((6, POOL, 4), (5, 3), image=(1, 8, 8)))
    groups = groups_of_chain(network)
    return network, groups, Estimate(CostModel(network, profile("horowitz45"), groups))


def test_the_least_channel_for_what_it_saves_goes_first() -> None:
    _, groups, estimate = small()
    whole = estimate.of({})
    masking = Masking(groups, estimate)
    scores = {group.id: np.arange(1.0, group.size + 1) for group in groups}
    masking.rank({group: Ranking(values) for group, values in scores.items()})
    budgets = Budgets({"macs": whole["macs"] * 0.9})
    assert masking.until(budgets)
    first = masking.steps[0]
    savings = {group.id: estimate.costs.per_channel(group.id, {}).macs for group in groups}
    by_hand = {group: scores[group][0] / scores[group].max() / savings[group] for group in savings}
    assert first.group == min(by_hand, key=by_hand.__getitem__)
    assert first.channel == 0
    assert estimate.of(masking.kept)["macs"] <= 0.9 * whole["macs"]


def test_a_layer_that_loses_much_is_spared() -> None:
    _, groups, estimate = small()
    whole = estimate.of({})
    kept = []
    for drops in ((0.0, 0.9, 0.0), (0.9, 0.0, 0.9)):
        masking = Masking(groups, estimate, floor=1e-3)
        masking.rank(
            {
                group.id: Ranking(np.ones(group.size), Sensitivity((1.0,), (drop,)))
                for group, drop in zip(groups, drops, strict=True)
            }
        )
        assert masking.until(Budgets({"macs": whole["macs"] * 0.5}))
        kept.append(masking.kept)
    assert kept[0][1] > kept[1][1]
    assert kept[0][0] < kept[1][0]


def test_what_cannot_be_met_leaves_one_channel_of_each_layer_that_matters() -> None:
    _, groups, estimate = small()
    masking = Masking(groups, estimate)
    masking.rank({group.id: Ranking(np.ones(group.size)) for group in groups})
    assert not masking.until(Budgets({"macs": 1.0}))
    assert set(masking.kept.values()) == {1}


def test_what_was_put_back_stays_and_what_is_not_needed_comes_back() -> None:
    _, groups, estimate = small()
    whole = estimate.of({})
    masking = Masking(groups, estimate)
    masking.rank({group.id: Ranking(np.arange(1.0, group.size + 1)) for group in groups})
    budgets = Budgets({"macs": whole["macs"] * 0.7})
    assert masking.until(budgets)
    held = [(step.group, step.channel) for step in masking.steps[:2]]
    masking.put_back(held)
    assert masking.until(budgets)
    assert not {(step.group, step.channel) for step in masking.steps} & set(held)
    assert all(masking.masks[group][channel] for group, channel in held)
    masking.take_back(Budgets({"macs": whole["macs"]}), since=1)
    assert len(masking.steps) == 1


def test_magnitudes_are_norms_of_filters() -> None:
    network, groups, estimate = small()
    found = magnitudes(network, groups, estimate.costs.layers)
    for group, name in zip(groups, ("w0", "w2", "fw0"), strict=True):
        weights = network.value(name)
        assert weights is not None
        wanted = [np.linalg.norm(weights[channel]) for channel in range(group.size)]
        np.testing.assert_allclose(found[group.id], wanted, rtol=1e-6)


def test_groups_are_parted_by_what_their_channels_hold() -> None:
    whole = ChannelGroup(
        7,
        4,
        ("a",),
        (
            Member("a", 1, np.arange(4)),
            Member("b", 1, np.array([0, 2, -1])),
            Member("c", 1, np.array([1, 3])),
        ),
    )
    barred = ChannelGroup(8, 2, ("z",), (Member("z", 1, np.arange(2)),), ("it must stay",))
    first, second = uniform_groups((whole, barred))
    assert (first.id, first.size, second.id, second.size) == (0, 2, 1, 2)
    assert [member.channels.tolist() for member in first.members] == [[0, -1, 1, -1], [0, 1, -1]]
    assert [member.channels.tolist() for member in second.members] == [[-1, 0, -1, 1], [0, 1]]
