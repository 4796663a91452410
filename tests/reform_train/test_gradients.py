"""Losses, accuracies and gradients, against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch_networks import classifier, samples

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform.onnx_network import network_of

torch = pytest.importorskip("torch", reason="PyTorch, the train extra, is not installed")
torch.set_num_threads(1)  # several tests run at once

from serenity_mlir.pipelines.reform.train.evaluator import Evaluator  # noqa: E402
from serenity_mlir.pipelines.reform.train.objective import Objective  # noqa: E402
from serenity_mlir.pipelines.reform.train.training import Training, train  # noqa: E402


def objective(*, step: int = 8, count: int = 20, batch: int | str = "N", softmax: bool = False) -> Objective:
    inputs, labels = samples(count, 1)
    model = classifier(0, batch=batch, softmax=softmax)
    return Objective(Evaluator(network_of(model)), inputs, labels, batch=step)


def loss_by_hand(found: Objective, gates: dict[str, Any] | None = None) -> float:
    with torch.no_grad():
        logits = found.evaluator.run(found.inputs, gates=gates)["y"]
    return float(torch.nn.functional.cross_entropy(logits, found.labels))


def test_the_loss_is_the_mean_cross_entropy() -> None:
    plain, normalised = objective(), objective(softmax=True)
    chosen = np.arange(20)
    assert plain.backward(chosen) == pytest.approx(loss_by_hand(plain), rel=1e-5)
    assert normalised.backward(chosen) == pytest.approx(loss_by_hand(plain), rel=1e-5)


def test_a_fixed_batch_size_changes_nothing() -> None:
    kinds = (objective(), objective(step=20), objective(batch=3))
    losses = [item.backward(np.arange(20)) for item in kinds]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-5)
    gradients = [item.evaluator.weights["w1"].grad.numpy() for item in kinds]
    for gradient in gradients[1:]:
        np.testing.assert_allclose(gradient, gradients[0], rtol=1e-3, atol=1e-5)
    assert kinds[0].accuracy() == kinds[2].accuracy()


def test_weights_get_the_slope_of_the_loss() -> None:
    found = objective()
    found.backward(np.arange(20))
    for name, weight in found.evaluator.weights.items():
        place = tuple(size // 2 for size in weight.shape)
        step = 1e-2
        losses = []
        for sign in (1, -1):
            with torch.no_grad():
                weight[place] += sign * step
            losses.append(loss_by_hand(found))
            with torch.no_grad():
                weight[place] -= sign * step
        slope = (losses[0] - losses[1]) / (2 * step)
        assert float(weight.grad[place]) == pytest.approx(slope, abs=2e-3, rel=0.05), name


def test_training_lowers_the_loss_and_is_repeatable() -> None:
    runs = []
    for _ in range(2):
        found = objective(count=60)
        before = loss_by_hand(found)
        train(found, Training(rate=1e-2, epochs=6, seed=3))
        runs.append(loss_by_hand(found))
        assert runs[-1] < before / 2
    assert runs[0] == runs[1]


def test_a_masked_channel_is_not_trained() -> None:
    found = objective()
    before = found.evaluator.trained()["w1"][2].copy()
    gate = torch.ones(1, 8, 1, 1)
    gate[0, 2] = 0
    train(found, Training(rate=1e-2, epochs=2), gates={"n1": gate})
    after = found.evaluator.trained()["w1"]
    np.testing.assert_array_equal(after[2], before)
    assert not np.array_equal(after[3], classifier_weights()[3])


def classifier_weights() -> np.ndarray:
    value = network_of(classifier(0)).value("w1")
    assert value is not None
    return value


def test_samples_that_do_not_fit_are_refused() -> None:
    evaluator = Evaluator(network_of(classifier(0)))
    inputs, labels = samples(4, 0)
    with pytest.raises(SerenityError, match="no samples for input 'x'"):
        Objective(evaluator, {"other": inputs["x"]}, labels, batch=2)
    with pytest.raises(SerenityError, match="differ in number"):
        Objective(evaluator, inputs, labels[:3], batch=2)


def test_a_loss_that_is_not_finite_stops_training() -> None:
    found = objective()
    with torch.no_grad():
        found.evaluator.weights["w4"].fill_(float("nan"))
    with pytest.raises(SerenityError, match="diverges"):
        train(found, Training())
