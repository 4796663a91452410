"""Effects of channels by gradients, against finite differences in onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from plain_chains import POOL, chain

from serenity_mlir.pipelines.reform.calibration import Calibration
from serenity_mlir.pipelines.reform.gated import GatedModel, joined
from serenity_mlir.pipelines.reform.judge import Judge
from serenity_mlir.pipelines.reform.onnx_network import network_of
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
