"""The static scheme: gates trained into budgets, folded into weights, resumed after a break."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_networks import classifier, samples

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.budgets import Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.gates import masked_network
from serenity_mlir.reform.groups import channel_groups, gates_of
from serenity_mlir.reform.network import Network
from serenity_mlir.reform.profile import profile

torch = pytest.importorskip("torch", reason="PyTorch, the train extra, is not installed")
torch.set_num_threads(1)  # several tests run at once

from serenity_mlir.pipelines.reform.train.admm import AdmmOptions  # noqa: E402
from serenity_mlir.pipelines.reform.train.evaluator import (  # noqa: E402
    Evaluator,
    with_weights,
)
from serenity_mlir.pipelines.reform.train.factors import GateFactors  # noqa: E402
from serenity_mlir.pipelines.reform.train.folding import fold  # noqa: E402
from serenity_mlir.pipelines.reform.train.objective import Objective  # noqa: E402
from serenity_mlir.pipelines.reform.train.static import (  # noqa: E402
    Samples,
    StaticOptions,
    StaticProblem,
    StaticResult,
    prune_static,
)
from serenity_mlir.pipelines.reform.train.training import Training, train  # noqa: E402


@pytest.fixture(scope="module")
def trained() -> Network:
    network = network_of(classifier(0))
    evaluator = Evaluator(network)
    train(Objective(evaluator, *samples(200, 1), batch=32), Training(rate=1e-2, epochs=4))
    return with_weights(network, evaluator.trained())


def problem(network: Network, share: float = 0.5) -> StaticProblem:
    groups = [group for group in channel_groups(network) if group.prunable]
    costs = CostModel(network, profile("horowitz45"), groups)
    full = costs.total()
    budgets: dict[Kind, float] = {
        "macs": share * full.macs,
        "memory": share * full.memory,
        "energy": share * full.energy,
    }
    return StaticProblem(
        network, groups, Estimate(costs), budgets, Samples(*samples(200, 1)), Samples(*samples(100, 2))
    )


SHORT = StaticOptions(
    AdmmOptions(rounds=8, steps=6, rate=2e-3, epsilon=0.2), Training(rate=2e-3, epochs=2), batch=32
)


def same(one: StaticResult, other: StaticResult) -> bool:
    weights = all(
        np.array_equal(one.network.value(name), other.network.value(name))  # type: ignore[arg-type]  # constants
        for name in ("w1", "b1", "w2", "w3", "w4")
    )
    return weights and all(np.array_equal(one.keep[group], other.keep[group]) for group in one.keep)


def test_budgets_hold_and_accuracy_is_kept(trained: Network) -> None:
    given = problem(trained)
    found = prune_static(given, SHORT)
    before, _, after = found.accuracy
    assert before > 0.85
    assert after > before - 0.03
    assert not found.unmet
    for name, limit in given.budgets.items():
        assert getattr(found.resources, name) <= limit
    kept = {group: int(mask.sum()) for group, mask in found.keep.items()}
    assert given.estimate.costs.total(kept) == found.resources
    # What is written, masked in the open, is what was measured.
    gates = gates_of(found.network, found.keep)
    judge = Objective(Evaluator(masked_network(found.network, gates)), *samples(100, 2), batch=50)
    assert judge.accuracy() == after


def test_the_same_seed_gives_the_same_weights(trained: Network) -> None:
    first, second = (prune_static(problem(trained), SHORT) for _ in range(2))
    assert same(first, second)
    other = prune_static(problem(trained), replace(SHORT, admm=replace(SHORT.admm, seed=1)))
    assert not same(first, other)


def test_a_run_that_was_cut_off_goes_on_to_the_same_result(trained: Network, tmp_path: Path) -> None:
    whole = prune_static(problem(trained), SHORT)
    options = replace(SHORT, checkpoint=tmp_path / "run.pt")
    rounds: list[str] = []

    def cut(stage: str, share: float) -> None:
        assert 0 < share <= 1
        rounds.append(stage)
        if stage.startswith("round 4 of"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prune_static(problem(trained), options, progress=cut)
    rounds.clear()
    resumed = prune_static(problem(trained), options, progress=lambda at, _: rounds.append(at))
    assert rounds[0].startswith("round 4 of")
    assert resumed.gaps == whole.gaps
    assert (resumed.means, resumed.kept) == (whole.means, whole.kept)
    assert same(resumed, whole)


def test_a_checkpoint_of_another_run_is_refused(trained: Network, tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    options = replace(SHORT, checkpoint=path, admm=replace(SHORT.admm, rounds=1))
    prune_static(problem(trained), options)
    with pytest.raises(SerenityError, match="belongs to a run with another model"):
        prune_static(problem(trained, share=0.4), options)
    path.write_bytes(b"no checkpoint")
    with pytest.raises(SerenityError, match="is no checkpoint"):
        prune_static(problem(trained), options)


def test_the_penalty_prunes_nothing_and_says_so(trained: Network) -> None:
    options = replace(SHORT, admm=replace(SHORT.admm, z_step="penalty"))
    found = prune_static(problem(trained), options)
    assert all(mask.all() for mask in found.keep.values())
    assert found.unmet == ("macs", "memory", "energy")


@pytest.mark.parametrize("z_step", ["projection", "penalty"])
def test_gates_that_all_close_are_refused(trained: Network, z_step: Any) -> None:
    options = replace(SHORT, admm=replace(SHORT.admm, z_step=z_step, lambda1=1.0))
    with pytest.raises(SerenityError, match=r"λ1 = 1.* close every gate of a layer"):
        prune_static(problem(trained), options)


def test_gates_fold_into_weights_without_a_trace(trained: Network) -> None:
    """Behind a batch normalisation, a residual convolution and a Gemm; negative gates, and dropped ones."""
    given = problem(trained)
    factors = GateFactors(trained, given.groups)
    assert {place.tensor for place in factors.places} == {"n1", "c2", "h"}
    gates = np.random.default_rng(0).normal(0.8, 0.5, factors.count)
    gates[::5] = 0
    weights, left = fold(trained, Evaluator(trained).trained(), factors, gates)
    assert set(left.tolist()) == {0.0, 1.0}
    x = {"x": torch.from_numpy(samples(6, 3)[0]["x"])}
    expected = output(trained, x, factors.factors(torch.tensor(gates, dtype=torch.float32)))
    masks = factors.factors(torch.tensor(left, dtype=torch.float32))
    np.testing.assert_allclose(
        output(with_weights(trained, weights), x, masks), expected, rtol=1e-3, atol=1e-4
    )


def output(network: Network, x: dict[str, Any], gates: dict[str, Any]) -> np.ndarray:
    with torch.no_grad():
        found: np.ndarray = Evaluator(network).run(x, gates=gates)["y"].numpy()
    return found


def test_shared_weights_keep_their_gates(trained: Network) -> None:
    """Scaling what two layers read would scale both."""
    (node,) = (node for node in trained.nodes if node.name == "conv2")
    first = trained.by_name["relu1"]
    twice = replace(node, name="again", outputs=("again",))
    nodes = tuple(item for item in trained.nodes)
    place = nodes.index(node)
    changed = replace(
        trained,
        nodes=(*nodes[:place], node, twice, *nodes[place + 1 :]),
        tensors={**trained.tensors, "again": replace(trained.tensors["c2"], name="again")},
    )
    assert first.outputs[0] in node.inputs
    given = problem(changed)
    factors = GateFactors(changed, given.groups)
    gates = np.full(factors.count, 0.5)
    before = Evaluator(changed).trained()
    weights, left = fold(changed, before, factors, gates)
    by_group = factors.by_group(left)
    stuck = {group.id for group in given.groups if "c2" in group.sources}
    assert stuck
    for group in given.groups:
        assert set(by_group[group.id].tolist()) == ({0.5} if group.id in stuck else {1.0})
    np.testing.assert_array_equal(weights["w2"], before["w2"])
    np.testing.assert_array_equal(weights["w3"], before["w3"] * np.float32(0.5))
