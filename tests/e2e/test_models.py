"""Real networks: what was predicted is what IREE allocates, and the results are right."""

from __future__ import annotations

from pathlib import Path

import corpus
import numpy as np
import onnx
import pytest
from harness import assert_close, compile_model, run_twice
from random_weights import weight_bytes, write_with_weights

from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import restore_dtype
from serenity_mlir.pipelines.reference import run_reference
from serenity_mlir.pipelines.verify import random_inputs
from serenity_mlir.report import Report

# Above this the weights of a light model make compiling slow: its bytes are tested with the
# weights that it ships with, its results by benchmarks/models.py.
_LARGEST_WEIGHTS = 110 << 20
_ALIGNMENT = 64
# Large networks have choices of minutes: what is tested holds for any set of rewrites.
_CUT_SHORT = ("--rewrite-limit", "5")


def _check_bytes(report: Report) -> None:
    memory = report.memory
    assert report.warnings == []
    assert memory.slab == memory.final.arena == memory.final.peak
    assert memory.optimal
    assert memory.stock is not None
    assert memory.slab is not None
    assert memory.stock.best is not None
    assert memory.slab <= memory.stock.best


def _check_results(model: Path, artefact: Path, report: Report, folder: Path) -> None:
    source = load_model(model)
    inputs = random_inputs(source.inputs)
    memory = report.memory
    assert memory.slab is not None
    run = run_twice(artefact, inputs, memory.slab, folder)
    # To the byte for one output; several share an allocation in which each is aligned.
    assert memory.ram is not None
    padding = _ALIGNMENT * (len(source.outputs) - 1)
    assert memory.ram <= run.allocator_peak <= memory.ram + padding
    if run.poisoned is not None and memory.slab:
        assert run.poisoned >= 2 * memory.slab
    expected = run_reference(source, inputs)
    for found in (run.first, run.second):
        typed = [restore_dtype(array, item) for array, item in zip(found, source.outputs, strict=True)]
        assert_close(typed, expected)
    for first, second in zip(run.first, run.second, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("model", corpus.shared_models())
def test_shared_model(model: Path, tmp_path: Path) -> None:
    artefact, report = compile_model(model, tmp_path, *_CUT_SHORT, "--compare-stock")
    _check_bytes(report)
    _check_results(model, artefact, report, tmp_path)


@pytest.mark.parametrize("model", corpus.onnx_light_models(), ids=lambda path: path.stem)
def test_light_model(model: Path, tmp_path: Path) -> None:
    if weight_bytes(onnx.load(model)) > _LARGEST_WEIGHTS:
        _, report = compile_model(model, tmp_path, *_CUT_SHORT, "--compare-stock")
        _check_bytes(report)
        return
    weighted = tmp_path / "model.onnx"
    write_with_weights(model, weighted)
    # Each of its 120 convolutions has sizes of its own: code for parts of all of them takes IREE minutes.
    apart = ("--no-rewrite", "--no-regions") if "densenet" in model.stem else ()
    artefact, report = compile_model(weighted, tmp_path, *_CUT_SHORT, "--compare-stock", *apart)
    _check_bytes(report)
    _check_results(weighted, artefact, report, tmp_path)
