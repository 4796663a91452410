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
    out, report, state = (tmp_path / name for name in ("out.onnx", "report.json", "state.pt"))
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
    assert "trained by ADMM on 160 samples" in capsys.readouterr().err


def test_a_budget_out_of_reach(tmp_path: Path, arguments: list[str]) -> None:
    out, report = tmp_path / "out.onnx", tmp_path / "report.json"
    options = ["--budget-macs", "1%", "--rounds", "1", "--epochs", "0"]
    assert main([*arguments, *options, "-o", str(out), "--report", str(report)]) == 3
    assert not out.exists()
    (variant,) = msgspec.json.decode(report.read_bytes(), type=PruneReport).variants
    assert [item.kind for item in variant.missed] == ["macs"]


def test_what_does_not_go_together(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["-o", str(tmp_path / "out.onnx")]
    assert main([*arguments, "--budget-ram", "1000", *output]) == 2
    assert "--budget-ram is measured on a compiled model" in capsys.readouterr().err
    assert main([*arguments[:-1], "--budget-macs", "50%", "--rounds", "3", *output]) == 2
    assert "--rounds is of the training with --static" in capsys.readouterr().err
    np.savez(tmp_path / "train.npz", x=samples(8, 1)[0]["x"])
    assert main([*arguments, "--budget-macs", "50%", *output]) == 1
    assert "has no labels" in capsys.readouterr().err
