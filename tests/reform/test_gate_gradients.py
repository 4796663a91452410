"""Effects of channels by gradients, against finite differences in onnxruntime."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from plain_chains import POOL, chain

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform import contribution
from serenity_mlir.pipelines.reform.calibration import Calibration
from serenity_mlir.pipelines.reform.gated import GatedModel, joined
from serenity_mlir.pipelines.reform.judge import Judge
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.pipelines.reform.prune import PruneOptions, prune
from serenity_mlir.reform.budgets import Amount, Kind
from serenity_mlir.reform.groups import channel_groups, gated_tensor, gates_of
from serenity_mlir.reform.uniform import uniform_groups

_STEP = 1e-2


@pytest.mark.parametrize("batch", [1, "n"])
def test_effects_are_finite_differences(batch: int | str) -> None:
    pytest.importorskip("torch")
    from serenity_mlir.pipelines.reform.train.gate_gradients import channel_effects  # noqa: PLC0415

    model = chain((5, POOL, 4), (6, 3), image=(2, 8, 8), batch=batch)
    for node in model.graph.node:  # smooth, so that differences are gradients
        node.op_type = "Tanh" if node.op_type == "Relu" else node.op_type
    network = network_of(model)
    groups = uniform_groups(channel_groups(network))
    masks = {group.id: np.ones(group.size, dtype=bool) for group in groups}
    masks[0][2] = False
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((6, 2, 8, 8)).astype(np.float32), rng.integers(0, 3, 6)
    data = Calibration({"x": x}, labels, 1 if batch == 1 else 4)
    found = channel_effects(network, groups, masks, ({"x": x}, labels), batch=4)

    tensors = {group.id: gated_tensor(network, group.sources[0]) for group in groups}
    gated = GatedModel(model, network, tuple(tensors.values()))
    judge = Judge(network, joined(gated.run(part, {}) for part in data.batches()), labels)
    closed = gates_of(network, masks, groups)
    for group in groups:
        for channel in np.flatnonzero(masks[group.id]):
            losses = []
            for step in (_STEP, -_STEP):
                gate = masks[group.id].astype(np.float64)
                gate[channel] += step
                gates = {**closed, tensors[group.id]: gate}
                losses.append(judge.losses(joined(gated.run(part, gates) for part in data.batches())))
            wanted = np.abs((losses[0] - losses[1]) / (2 * _STEP)).mean()
            assert found[group.id][channel] == pytest.approx(wanted, rel=2e-2, abs=1e-4)
    assert found[0][2] == 0


def test_gradients_that_are_asked_for_and_not_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(chain((6, POOL), (5, 3), image=(2, 8, 8)), tmp_path / "model.onnx")
    np.savez(tmp_path / "data.npz", x=np.zeros((4, 2, 8, 8), np.float32))
    budgets: list[dict[Kind, Amount]] = [{"macs": Amount.read("60%", "macs")}]
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    options = PruneOptions(contribution="gradient")
    with pytest.raises(SerenityError, match="CI by gradients needs PyTorch"):
        prune(tmp_path / "model.onnx", tmp_path / "data.npz", budgets, options)


def test_large_networks_are_ranked_by_gradients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    onnx.save(chain((6, POOL), (5, 3), image=(2, 8, 8)), tmp_path / "model.onnx")
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((40, 2, 8, 8)).astype(np.float32), rng.integers(0, 3, 40)
    np.savez(tmp_path / "data.npz", x=x, labels=labels)
    files = (tmp_path / "model.onnx", tmp_path / "data.npz")
    budgets: list[dict[Kind, Amount]] = [{"macs": Amount.read("60%", "macs")}]
    assert prune(*files, budgets, PruneOptions()).report.contribution.estimate == "ablation"
    monkeypatch.setattr(contribution, "_WORK", 1.0)
    report = prune(*files, budgets, PruneOptions()).report
    assert report.contribution.estimate == "gradient"
    assert report.variants[0].missed == []
    masked = prune(*files, budgets, PruneOptions(contribution="ablation")).report
    assert masked.contribution.estimate == "ablation"
    monkeypatch.undo()
    asked = prune(*files, budgets, PruneOptions(contribution="gradient")).report
    assert asked.contribution.estimate == "gradient"
    assert asked.variants[0].missed == []
