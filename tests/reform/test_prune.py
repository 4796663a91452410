"""`prune`: budgets hold on what comes out, measured there; what comes out equals what was masked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import numpy_helper
from plain_chains import POOL, chain
from reform_harness import run

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import CompileOptions, compile_model
from serenity_mlir.pipelines.importing.source import TensorIO
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.reform import engine as engines
from serenity_mlir.pipelines.reform.calibration import read_calibration
from serenity_mlir.pipelines.reform.contribution import plan_ablations
from serenity_mlir.pipelines.reform.judge import Judge
from serenity_mlir.pipelines.reform.onnx_network import load, masked, network_of
from serenity_mlir.pipelines.reform.prune import PruneOptions, prune
from serenity_mlir.pipelines.reform.subject import Subject
from serenity_mlir.reform.budgets import Amount, Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.masking import Method
from serenity_mlir.reform.profile import profile

IMAGE = (2, 8, 8)


def saved(folder: Path, model: onnx.ModelProto, samples: int = 12, **labels: Any) -> tuple[Path, Path]:
    """A model's file, and one of random samples for it."""
    path, data = folder / "model.onnx", folder / "data.npz"
    onnx.save(model, path)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim][1:]
    x = np.random.default_rng(1).standard_normal((samples, *shape)).astype(np.float32)
    np.savez(data, x=x, **labels)
    return path, data


def half(*kinds: Kind) -> Mapping[Kind, Amount]:
    return {kind: Amount(0.5, relative=True) for kind in kinds}


@given(
    st.lists(st.integers(2, 8), min_size=1, max_size=3),
    st.dictionaries(
        st.sampled_from(["macs", "memory", "energy", "latency"]), st.floats(0.3, 1.0), min_size=1
    ),
    st.sampled_from(["pi", "magnitude", "random"]),
    st.integers(0, 99),
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_budgets_hold_on_what_comes_out(
    tmp_path: Path, sizes: list[int], shares: dict[Kind, float], method: Method, seed: int
) -> None:
    model = chain((*sizes, POOL), (6, 3), image=IMAGE, seed=seed)
    path, data = saved(tmp_path, model)
    budgets = {kind: Amount(share, relative=True) for kind, share in shares.items()}
    result = prune(path, data, [budgets], PruneOptions(method=method, seed=seed))
    (variant,), (info,) = result.variants, result.report.variants
    # Measured by nothing that pruning used: the model that came out, read again, without any groups.
    total = CostModel(network_of(variant.model), profile("horowitz45")).total()
    whole = CostModel(network_of(model), profile("horowitz45")).total()
    missed = {item.kind for item in info.missed}
    for kind, share in shares.items():
        assert (getattr(total, kind) > share * getattr(whole, kind)) == (kind in missed)
        assert getattr(info.figures, kind) == pytest.approx(getattr(total, kind))
    if missed:  # nothing more could go that makes a difference
        assert all(group.kept == 1 for group in info.groups)
    subject = Subject.read(path, profile("horowitz45"))
    x = np.load(data)["x"][:1]
    (wanted,) = run(masked(subject.model, subject.gates(variant.masks)), {"x": x})
    (found,) = run(variant.model, {"x": x})
    np.testing.assert_allclose(found, wanted, atol=1e-5, rtol=1e-5)


def test_ram_and_rom_are_those_of_the_compiled_variant(tmp_path: Path) -> None:
    path, data = saved(tmp_path, chain((8, 8, POOL), (6, 3), image=IMAGE))
    plain = CompileOptions(emit="mlir", rewrite=RewriteOptions(ops=False, regions=False))
    result = prune(path, data, [half("ram", "rom", "macs")], PruneOptions(method="magnitude", compile=plain))
    (variant,), (info,) = result.variants, result.report.variants
    assert info.missed == []
    out = tmp_path / "out.onnx"
    onnx.save(variant.model, out)
    figures = [compile_model(item, plain).report for item in (path, out)]
    assert figures[0] is not None
    assert figures[1] is not None
    before, after = (item.memory for item in figures if item is not None)
    assert (info.figures.ram, info.figures.rom) == (after.ram, after.weights)
    assert (result.report.unpruned.ram, result.report.unpruned.rom) == (before.ram, before.weights)
    assert before.ram is not None
    assert after.ram is not None
    assert after.ram <= before.ram / 2
    assert after.weights <= before.weights / 2


def test_variants_are_nested(tmp_path: Path) -> None:
    path, data = saved(tmp_path, chain((8, POOL, 8), (6, 3), image=IMAGE))
    budgets: list[dict[Kind, Amount]] = [{"macs": Amount(share, relative=True)} for share in (0.8, 0.5, 0.3)]
    result = prune(path, data, budgets, PruneOptions(method="magnitude"))
    for larger, smaller in zip(result.variants, result.variants[1:], strict=False):
        for group, mask in larger.masks.items():
            assert (smaller.masks[group] <= mask).all()
    macs = [info.figures.macs for info in result.report.variants]
    assert macs == sorted(macs, reverse=True)
    points = [point.masked for point in result.report.path]
    assert points == sorted(points)


def test_a_channel_that_nobody_reads_goes_first(tmp_path: Path) -> None:
    model = chain((6, 4), (3,), image=IMAGE)
    weights = next(item for item in model.graph.initializer if item.name == "w1")
    values = numpy_helper.to_array(weights).copy()
    values[:, 4] = 0
    weights.CopyFrom(numpy_helper.from_array(values, "w1"))
    path, data = saved(tmp_path, model)
    result = prune(path, data, [{"macs": Amount(0.85, relative=True)}], PruneOptions())
    assert result.report.contribution.estimate in ("ablation", "gradient")
    assert not result.variants[0].masks[0][4]
    assert result.report.variants[0].figures.score == 1.0


def behind_a_sigmoid() -> onnx.ModelProto:
    """Masked channels of the first convolution come out as 0.5 of a sigmoid, in front of a padded one."""
    model = chain((6, 6), (3,), image=IMAGE)
    node = next(node for node in model.graph.node if node.op_type == "Relu")
    node.op_type = "Sigmoid"
    return model


def test_what_cannot_leave_is_said_and_others_go(tmp_path: Path) -> None:
    path, data = saved(tmp_path, behind_a_sigmoid())
    result = prune(path, data, [half("macs")], PruneOptions(method="random"))
    (info,) = result.report.variants
    assert info.missed == []
    assert info.groups[0].kept == info.groups[0].size
    assert info.groups[1].kept < info.groups[1].size
    (out_of_reach,) = prune(
        path, data, [{"macs": Amount(0.1, relative=True)}], PruneOptions(method="random")
    ).report.variants
    (missed,) = out_of_reach.missed
    assert missed.kind == "macs"
    assert missed.reached == out_of_reach.figures.macs > missed.limit


@pytest.mark.parametrize("name", ["onnxruntime", "iree"])
def test_engines_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "engine_name", lambda: name)
    model = chain((4, POOL), (5, 3), image=IMAGE)
    x = np.random.default_rng(2).standard_normal((1, *IMAGE)).astype(np.float32)
    (found,) = engines.engine(model)({"x": x})
    np.testing.assert_allclose(found, run(model, {"x": x})[0], atol=1e-5)


def test_a_model_that_onnxruntime_runs_only_as_it_is(shared: Path) -> None:
    """Its optimisations want an attribute of the output's type to agree with what they moved it to."""
    model, network = load(shared / "models" / "tfl_tflm_micro_speech.onnx")
    (name,) = network.inputs
    x = np.zeros([size or 1 for size in network.shape(name)], network.tensors[name].dtype)
    for found, wanted in zip(engines.engine(model)({name: x}), run(model, {name: x}), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_pruning_needs_no_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = saved(tmp_path, chain((4, POOL), (4, 3), image=IMAGE))
    monkeypatch.setattr(engines, "engine_name", lambda: "iree")
    result = prune(path, data, [half("memory")], PruneOptions(method="magnitude"))
    assert result.report.variants[0].proof.passed


def test_work_on_ablations_is_bounded() -> None:
    small, large = plan_ablations(1e6, 50, 1000), plan_ablations(3e8, 5000, 1000)
    assert (small.rounds, small.samples, small.together) == (6, 256, 1)
    assert large.rounds == 1
    assert large.together > 1
    assert 3e8 * 5000 * large.rounds * large.samples / large.together <= 3e11


def test_scores_and_losses() -> None:
    network = network_of(chain((4,), (3,), image=IMAGE))
    outputs = [np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 0.0]], np.float32)]
    other = [np.array([[2.0, 1.0, 0.0], [4.0, 3.0, 0.0]], np.float32)]
    labelled = Judge(network, outputs, np.array([0, 0]))
    assert (labelled.measure, labelled.score(outputs), labelled.score(other)) == ("accuracy", 0.5, 1.0)
    odds = np.exp(outputs[0]) / np.exp(outputs[0]).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(labelled.losses(outputs), -np.log(odds[:, 0]), rtol=1e-6)
    free = Judge(network, outputs, None)
    assert (free.measure, free.score(outputs), free.score(other)) == ("agreement", 1.0, 0.5)
    maps = [np.ones((2, 3, 2, 2), np.float32)]
    faithful = Judge(network, maps, None)
    assert (faithful.measure, faithful.score(maps)) == ("fidelity", 1.0)
    assert faithful.score([maps[0] * 0.5]) == pytest.approx(0.75)
    with pytest.raises(SerenityError, match="do not fit the model's first output"):
        Judge(network, outputs, np.array([0, 3]))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "has no array 'x'"),
        ({"x": np.zeros((4, 3))}, "its shape is"),
        ({"x": np.zeros((0, 2, 3))}, "it holds no samples"),
        ({"x": np.full((4, 2, 3), np.nan)}, "it holds NaN"),
        ({"x": np.zeros((4, 2, 3), complex)}, "it holds complex128"),
        ({"x": np.zeros((4, 2, 3)), "labels": np.zeros(3, int)}, "differ in their number of samples"),
        ({"x": np.zeros((4, 2, 3)), "labels": np.zeros(4)}, "not one integer a sample"),
        ({"x": np.zeros((3, 2, 3))}, "no multiple of the 2"),
        ({"x": np.zeros((4, 2, 3)), "label": np.zeros(4, int)}, "array 'label' is no input"),
    ],
)
def test_calibration_data_that_do_not_fit(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    with pytest.raises(SerenityError, match=message):
        read_calibration(path, [TensorIO("x", (2, 2, None), "float32")])


def test_calibration_data_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    x = np.arange(8.0).reshape(4, 2)
    np.savez(path, x=x, labels=np.arange(4))
    data = read_calibration(path, [TensorIO("x", (2, 2), "float32")])
    assert [part["x"].tolist() for part in data.batches()] == [x[:2].tolist(), x[2:].tolist()]
    assert next(data.batches(1))["x"].dtype == np.float32
    path.write_bytes(b"not a zip")
    with pytest.raises(SerenityError, match="no NPZ file"):
        read_calibration(path, [TensorIO("x", (2, 2), "float32")])


def test_the_indicator_beats_the_baselines(shared: Path, tmp_path: Path) -> None:
    digits = np.load(shared / "data" / "mnist" / "mnist10k.npz")
    x = digits["x_train"][:200, None].astype(np.float32)
    data = tmp_path / "digits.npz"
    np.savez(data, Input3=x, labels=digits["y_train"][:200])
    scores = {}
    methods: tuple[Method, ...] = ("pi", "magnitude", "random")
    for method in methods:
        result = prune(
            shared / "models" / "mnist_cntk.onnx",
            data,
            [{"macs": Amount(0.6, relative=True), "memory": Amount(0.8, relative=True)}],
            PruneOptions(method=method),
        )
        assert result.report.variants[0].missed == []
        scores[method] = result.report.variants[0].figures.score
    assert scores["pi"] > max(scores["magnitude"], scores["random"])
    assert scores["pi"] >= 0.95
