"""`serenity prune --static` as people call it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import onnx
import onnxruntime
import pytest
from torch_networks import classifier, samples

from serenity_mlir.pipelines.cli.main import main
from serenity_mlir.pipelines.compile import CompileOptions, compile_model
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.reform.report import PruneReport

torch = pytest.importorskip("torch", reason="PyTorch, the train extra, is not installed")
torch.set_num_threads(1)  # several tests run at once


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    onnx.save(classifier(0), tmp_path / "model.onnx")
    for name, seed in (("train", 1), ("test", 2)):
        inputs, labels = samples(160, seed)
        np.savez(tmp_path / f"{name}.npz", x=inputs["x"], labels=labels)
    return ["prune", str(tmp_path / "model.onnx"), "--calibration", str(tmp_path / "train.npz"), "--static"]


def test_a_trained_model_within_its_budgets(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("out.onnx", "report.json", "state.pt", "plot.svg")
    out, report, state, plot = (tmp_path / name for name in names)
    budgets = ["--budget-macs", "50%", "--budget-memory", "50%"]
    training = [
        "--test",
        str(tmp_path / "test.npz"),
        "--rounds",
        "3",
        "--epochs",
        "12",
        "--checkpoint",
        str(state),
        "--plot",
        str(plot),
    ]
    assert main([*arguments, *budgets, *training, "-o", str(out), "--report", str(report)]) == 0
    found = msgspec.json.decode(report.read_bytes(), type=PruneReport)
    (variant,) = found.variants
    assert variant.figures.macs <= found.unpruned.macs / 2
    assert variant.figures.memory <= found.unpruned.memory / 2
    assert variant.proof.passed
    assert found.contribution.estimate == "trained"
    assert variant.figures.score > found.unpruned.score  # the model that it begins with has learned nothing
    inputs, labels = samples(160, 2)
    session = onnxruntime.InferenceSession(out.read_bytes(), providers=["CPUExecutionProvider"])
    scores = session.run(None, inputs)[0]
    assert float((scores.argmax(axis=1) == labels).mean()) == pytest.approx(variant.figures.score)
    assert state.exists()
    assert len(found.rounds) == 3
    assert found.rounds[-1].kept == [group.kept for group in variant.groups]
    assert all(0 < gate < 1.5 for item in found.rounds for gate in item.gates)
    assert "round of ADMM" in plot.read_text()
    assert "trained by ADMM on 160 samples" in capsys.readouterr().err


def test_a_budget_out_of_reach(tmp_path: Path, arguments: list[str]) -> None:
    out, report = tmp_path / "out.onnx", tmp_path / "report.json"
    options = ["--budget-macs", "1%", "--rounds", "1", "--epochs", "0"]
    assert main([*arguments, *options, "-o", str(out), "--report", str(report)]) == 3
    assert not out.exists()
    (variant,) = msgspec.json.decode(report.read_bytes(), type=PruneReport).variants
    assert [item.kind for item in variant.missed] == ["macs"]


@pytest.fixture
def compiled(tmp_path: Path, arguments: list[str]) -> list[str]:
    """One sample at a time, as RAM of a constant size needs, and no search for rewrites, which takes long."""
    onnx.save(classifier(0, batch=1), tmp_path / "model.onnx")
    return [*arguments, "--rewrite-limit", "0", "--rounds", "2", "--epochs", "1"]


def test_every_kind_of_budget_at_once(tmp_path: Path, compiled: list[str]) -> None:
    out, report = tmp_path / "out.onnx", tmp_path / "report.json"
    shares = {"macs": 60, "memory": 70, "energy": 70, "latency": 60, "ram": 70, "rom": 60}
    budgets = [text for kind, share in shares.items() for text in (f"--budget-{kind}", f"{share}%")]
    assert main([*compiled, *budgets, "-o", str(out), "--report", str(report)]) == 0
    found = msgspec.json.decode(report.read_bytes(), type=PruneReport)
    (variant,) = found.variants
    for kind, share in shares.items():
        assert getattr(variant.figures, kind) <= share / 100 * getattr(found.unpruned, kind)
    assert variant.proof.passed
    again = compile_model(out, CompileOptions(emit="mlir", rewrite=RewriteOptions(time_limit=0))).report
    assert again is not None
    assert (again.memory.ram, again.memory.weights) == (variant.figures.ram, variant.figures.rom)


def test_ram_out_of_reach(tmp_path: Path, compiled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out, report = tmp_path / "out.onnx", tmp_path / "report.json"
    budgets = ["--budget-ram", "400", "--budget-rom", "90%"]
    assert main([*compiled, *budgets, "-o", str(out), "--report", str(report)]) == 3
    assert not out.exists()
    (variant,) = msgspec.json.decode(report.read_bytes(), type=PruneReport).variants
    (missed,) = variant.missed
    assert (missed.kind, missed.reached) == ("ram", variant.figures.ram)
    assert "more than the budget of 400 bytes" in capsys.readouterr().err
    assert all(group.kept == 1 for group in variant.groups)


def test_what_cannot_leave_stays_and_others_go(tmp_path: Path, arguments: list[str]) -> None:
    """Masked channels come out of a sigmoid as 0.5, in front of a padded convolution."""
    model, out, report = classifier(0), tmp_path / "out.onnx", tmp_path / "report.json"
    next(node for node in model.graph.node if node.name == "relu1").op_type = "Sigmoid"
    onnx.save(model, tmp_path / "model.onnx")
    options = ["--budget-memory", "70%", "--rounds", "2", "--epochs", "0"]
    assert main([*arguments, *options, "-o", str(out), "--report", str(report)]) == 0
    found = msgspec.json.decode(report.read_bytes(), type=PruneReport)
    (variant,) = found.variants
    assert variant.figures.memory <= 0.7 * found.unpruned.memory
    first, hidden = variant.groups
    assert first.kept == first.size
    assert hidden.kept < hidden.size


def test_what_does_not_go_together(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["-o", str(tmp_path / "out.onnx")]
    assert main([*arguments[:-1], "--budget-macs", "50%", "--rounds", "3", *output]) == 2
    assert "--rounds is of the training with --static" in capsys.readouterr().err
    np.savez(tmp_path / "train.npz", x=samples(8, 1)[0]["x"])
    assert main([*arguments, "--budget-macs", "50%", *output]) == 1
    assert "has no labels" in capsys.readouterr().err
