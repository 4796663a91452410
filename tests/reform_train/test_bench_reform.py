"""The networks, digits and baselines of `serenity bench reform`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.bench.digits import Digits, digits
from serenity_mlir.pipelines.bench.reform_networks import lenet, vgg
from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.profile import profile


def test_the_papers_networks_have_its_sizes() -> None:
    """LeNet: 12.6 MB (of 2^20 bytes); VGG: 62 MB (of 10^6) and 313.7 M MACs."""
    small, large = (
        CostModel(network_of(infer_shapes(make(0))), profile("paper-fit")).total() for make in (lenet, vgg)
    )
    assert small.memory == 4 * (25 * 32 + 25 * 32 * 64 + 3136 * 1024 + 10240 + 28**2 * 32 + 14**2 * 64 + 1034)
    assert small.memory / 2**20 == pytest.approx(12.6, abs=0.05)
    assert round(large.memory / 1e6, 2) == 62.07
    assert large.macs == 313_725_952


def some_digits(path: Path, count: int = 64) -> Path:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2 * count, 28, 28), dtype=np.uint8)
    labels = rng.integers(0, 10, 2 * count, dtype=np.uint8)
    np.savez(
        path, x_train=images[:count], y_train=labels[:count], x_test=images[count:], y_test=labels[count:]
    )
    return path


def test_digits_are_read_or_refused(tmp_path: Path) -> None:
    path = some_digits(tmp_path / "digits.npz")
    found = digits(path)
    assert found.images.shape == (64, 1, 28, 28)
    assert found.images.dtype == np.float32
    with np.load(path) as file:
        np.testing.assert_array_equal(np.rint(found.test_images[:, 0] * 255), file["x_test"])
        np.testing.assert_array_equal(found.test_labels, file["y_test"])
    np.savez(path, x_train=np.zeros(3))
    with pytest.raises(SerenityError, match="holds no digits"):
        digits(path)


torch = pytest.importorskip("torch", reason="PyTorch, the train extra, is not installed")
torch.set_num_threads(1)  # several tests run at once

from serenity_mlir.pipelines.bench.reform_baselines import (  # noqa: E402
    magnitude_masks,
    netadapt,
    random_masks,
    relative_magnitudes,
)
from serenity_mlir.pipelines.bench.reform_setting import Setting, counts  # noqa: E402
from serenity_mlir.pipelines.reform.train.training import Training  # noqa: E402


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    found: Digits = digits(some_digits(tmp_path_factory.mktemp("digits") / "digits.npz"))
    return Setting(found, 0, lambda _stage: None)


def test_magnitudes_are_norms_of_filters(setting: Setting) -> None:
    found = relative_magnitudes(setting.network, setting.costs)
    for group, weight in zip(setting.groups, ("conv1.weight", "conv2.weight", "gemm1.weight"), strict=True):
        value = setting.network.value(weight)
        assert value is not None
        norms = np.linalg.norm(value.reshape(group.size, -1).astype(np.float64), axis=1)
        np.testing.assert_allclose(found[group.id], norms / norms.mean(), rtol=1e-6)


def test_masks_hold_the_budgets_and_differ(setting: Setting) -> None:
    budgets = setting.shares(macs=0.5, memory=0.5)
    both = [magnitude_masks(setting, budgets), random_masks(setting, budgets)]
    for keep in both:
        total = setting.costs.total(counts(keep))
        assert all(getattr(total, name) <= limit for name, limit in budgets.items())
    assert any(not np.array_equal(both[0][group], both[1][group]) for group in both[0])


def test_the_greedy_one_meets_its_budget(setting: Setting) -> None:
    budget = setting.shares(memory=0.6)["memory"]
    found = netadapt(setting, "memory", budget, 2, Training(epochs=0))
    assert found.iterations == 2
    assert found.resources.memory <= budget
    # Each iteration takes no more than it must: one channel is worth 0.2 MB at most.
    assert found.resources.memory > 0.9 * budget
    assert len(found.kept) == 3
