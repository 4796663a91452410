"""Inputs that break tools like this one, each against its reference."""

from __future__ import annotations

from pathlib import Path

import corpus
import numpy as np
import pytest
from harness import assert_close, compile_model, run_twice, serenity

# Stock cannot compile these either; each is refused with the node or the type at fault.
REFUSED = {"custom_domain_ir": "FusedConv", "seq_ops": "SplitToSequence"}


@pytest.mark.parametrize("case", corpus.shared_cases())
def test_case(case: Path, tmp_path: Path) -> None:
    model = next(case.glob("model.*"))
    if case.name in REFUSED:
        done = serenity("compile", model, "-o", tmp_path / "out.vmfb")
        assert done.returncode == 1
        assert REFUSED[case.name] in done.stderr
        assert "hint:" in done.stderr
        assert not list(tmp_path.iterdir())
        return
    cut_short = ("--rewrite-limit", "4")  # what is tested holds for any set of rewrites
    artefact, report = compile_model(model, tmp_path, *cut_short, "--compare-stock")
    memory = report.memory
    with np.load(case / "inputs.npz") as loaded:
        inputs = {name: loaded[name] for name in loaded.files}
    with np.load(case / "outputs.npz") as loaded:
        expected = [loaded[name] for name in loaded.files]
    run = run_twice(artefact, inputs, memory.slab or 0, tmp_path)
    assert_close(run.first, expected)
    if case.name != "mlir_mutable_global":  # its second call returns what the first one stored
        assert_close(run.second, expected)
    assert memory.slab == memory.final.arena
    if memory.slab is not None and memory.stock is not None and memory.stock.best is not None:
        assert memory.slab <= memory.stock.best
        assert memory.optimal
