"""What costs are said to be before channels are removed is what they are after, on networks of any shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from channel_graphs import INPUT, networks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.pipelines.reform.prune import PruneOptions, prune
from serenity_mlir.pipelines.reform.subject import Subject
from serenity_mlir.reform.budgets import Amount, Kind
from serenity_mlir.reform.groups import channel_groups
from serenity_mlir.reform.profile import profile
from serenity_mlir.reform.uniform import whole_masks

COSTS: tuple[Kind, ...] = ("macs", "memory", "energy", "latency")


def subject_of(folder: Path, model: onnx.ModelProto) -> Subject | None:
    """The model to be pruned; None where no channel can leave."""
    onnx.save(model, folder / "model.onnx")
    if any(group.prunable for group in channel_groups(network_of(model))):
        return Subject.read(folder / "model.onnx", profile("horowitz45"))
    with pytest.raises(SerenityError, match="no channel can be removed"):
        Subject.read(folder / "model.onnx", profile("horowitz45"))
    return None


@given(st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_costs_are_those_of_what_is_left(tmp_path: Path, data: st.DataObject) -> None:
    subject = subject_of(tmp_path, data.draw(networks()))
    if subject is None:
        return
    estimate = subject.estimate((*COSTS, "rom"))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    masks = {group.id: rng.random(group.size) < 0.7 for group in subject.groups}
    for mask in masks.values():
        mask[rng.integers(len(mask))] = True
    made = subject.made(masks)
    kept = {group: int(mask.sum()) for group, mask in masks.items()}
    expected = estimate.of(kept)
    refused = subject.channels_of(made.refused)
    assert bool(refused) == bool(made.refused)
    for kind in COSTS:
        if made.refused:
            assert made.measured[kind] >= expected[kind] * (1 - 1e-9)
        else:
            assert made.measured[kind] == pytest.approx(expected[kind])
    # Parts of groups mask what the whole groups mask.
    every = channel_groups(subject.network)
    whole = {index for index, group in enumerate(every) if group.prunable}
    assert sum((~mask).sum() for mask in whole_masks(every, masks).values()) == sum(
        (~mask).sum() for mask in masks.values()
    )
    assert whole == whole_masks(every, masks).keys()


@given(st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_budgets_hold_or_are_said_to_be_missed(tmp_path: Path, data: st.DataObject) -> None:
    subject = subject_of(tmp_path, data.draw(networks()))
    if subject is None:
        return
    x = np.random.default_rng(3).standard_normal((4 * INPUT[0], *INPUT[1:])).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    budgets = {kind: Amount(data.draw(st.floats(0.4, 1)), relative=True) for kind in ("macs", "memory")}
    limits: dict[Kind, Amount] = {"macs": budgets["macs"], "memory": budgets["memory"]}
    options = PruneOptions(method=data.draw(st.sampled_from(["pi", "magnitude", "random"])))
    (info,) = prune(tmp_path / "model.onnx", tmp_path / "data.npz", [limits], options).report.variants
    missed = {item.kind for item in info.missed}
    for kind, limit in info.budgets.items():
        assert (getattr(info.figures, kind) > limit) == (kind in missed)
    assert info.proof.passed
