"""What programs call: results, errors, crashes, and that it is the command line's options."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any, cast, get_type_hints

import click
import numpy as np
import onnx
import pytest
from rich.console import Console
from tiny_models import MLIR, two_convolutions

import serenity_mlir
from serenity_mlir import BudgetExceeded, Buffer, MemoryGraph, Op, SerenityError, Slice, UsageError
from serenity_mlir.pipelines.api import AnalyzeOptions, PruneOptions
from serenity_mlir.pipelines.cli.main import serenity
from serenity_mlir.reform.budgets import Kind

# By hand: the input and the first result, each padded by one all around, rounded up to 64 bytes.
PEAK = 1_216 + 16 * 10 * 10 * 4
FAST: AnalyzeOptions = {"no_rewrite": True, "no_regions": True}


def text(result: object, width: int = 200) -> str:
    file = StringIO()
    Console(file=file, width=width).print(result)
    return " ".join(file.getvalue().split())  # titles are wrapped


class Cells(HTMLParser):
    """The text of each cell, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.found.append(" ".join(data.split()))


def test_an_import_loads_nothing_and_names_come_when_used() -> None:
    code = (
        "import sys; import serenity_mlir\n"
        "light = [name for name in sys.modules if name.startswith('serenity_mlir.')]\n"
        "print(light, set(serenity_mlir.__all__) - set(dir(serenity_mlir)))\n"
        "print(serenity_mlir.plan.__module__, 'iree' in sys.modules, hasattr(serenity_mlir, 'nothing'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] set()", "serenity_mlir.arena.driver False False"]


@pytest.mark.parametrize("name", serenity_mlir.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(serenity_mlir, name).__name__ == name


def test_keywords_are_the_options_of_the_commands() -> None:
    def names(command: str) -> set[str]:
        parameters = serenity.commands[command].params
        found = {item.name for item in parameters if not isinstance(item.type, click.Path)}
        return {"target" if name == "targets" else str(name) for name in found}

    ours = set(get_type_hints(AnalyzeOptions))
    assert ours <= names("analyze")
    own = {"emit", "name", "verify", "budget_ram", "budget_rom"}
    # What is left out beside files: what only a command line needs, and phases without a report.
    assert names("compile") - own - ours == {"timeline", "debug", "phase"}
    assert set(get_type_hints(PruneOptions)) <= names("prune")


def test_analyze_a_model_in_memory() -> None:
    model = two_convolutions()
    before = model.SerializeToString()
    report = serenity_mlir.analyze(model, **FAST)
    assert model.SerializeToString() == before
    assert report.model.path == "<main>"
    assert report.memory.final.peak == PEAK
    assert json.loads(report.to_json())["memory"]["final"]["peak"] == PEAK
    shown, cells = text(report), Cells(report._repr_html_()).found
    assert f"{PEAK:,}" in shown
    assert f"{PEAK:,}" in cells
    assert "<main> (generic)" in cells
    # The page of a notebook and a terminal show the same.
    assert [cell for cell in cells if cell not in shown] == []


def test_compile_verifies_and_saves(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(two_convolutions(), path)
    compiled = serenity_mlir.compile(path, verify=True, **FAST)
    assert compiled.report.verify is not None
    assert compiled.report.verify.passed
    assert compiled.report.memory.slab == PEAK
    assert compiled.report.model.path == str(path)
    compiled.save(tmp_path / "model.vmfb")
    assert (tmp_path / "model.vmfb").read_bytes() == compiled.data
    with pytest.raises(SerenityError, match="there is no folder"):
        compiled.save(tmp_path / "no" / "model.vmfb")


def test_compile_to_firmware(tmp_path: Path) -> None:
    library = serenity_mlir.compile(two_convolutions(), emit="firmware", target="cortex-m7", name="net")
    assert "net.h" in {Path(name).name for name in library.files}
    with pytest.raises(UsageError, match="several files"):
        _ = library.data
    library.save(tmp_path / "net")
    saved = {
        str(file.relative_to(tmp_path / "net")) for file in (tmp_path / "net").rglob("*") if file.is_file()
    }
    assert saved == set(library.files)


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"target": "nowhere"}, UsageError, "no target 'nowhere'"),
        ({"method": "guess"}, UsageError, "'guess' is not one of"),
        ({"io": "arena", "no_arena": True}, UsageError, "leave out one of them"),
        ({"flavour": "sweet"}, UsageError, "No such option '--flavour'"),
    ],
)
def test_options_that_cannot_be(
    options: dict[str, Any], kind: type[SerenityError], said: str, tmp_path: Path
) -> None:
    (tmp_path / "x.mlir").write_text(MLIR)
    with pytest.raises(kind, match=said):
        serenity_mlir.analyze(tmp_path / "x.mlir", **options)


def test_models_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(SerenityError, match="there is no such file") as caught:
        serenity_mlir.analyze(tmp_path / "none.onnx")
    assert caught.value.file == str(tmp_path / "none.onnx")
    with pytest.raises(UsageError, match="many models"):
        serenity_mlir.analyze(tmp_path)
    with pytest.raises(TypeError, match="not bytes"):
        serenity_mlir.analyze(cast("Any", b"model"))


def test_a_budget_that_does_not_hold() -> None:
    with pytest.raises(BudgetExceeded, match="more than the budget of 100") as caught:
        serenity_mlir.compile(two_convolutions(), budget_ram=100, **FAST)
    assert caught.value.file == "<main>"


def test_a_crash_ends_in_an_exception(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.mlir").write_text(MLIR)
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "def hook(event, arguments):\n"
        "    if event == 'open' and str(arguments[0]).endswith('x.mlir'):\n"
        "        os.abort()\n"
        "sys.addaudithook(hook)\n"
    )
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with pytest.raises(SerenityError, match=r"the compiler crashed \(SIGABRT\) during 'import'"):
        serenity_mlir.analyze(tmp_path / "x.mlir")
    assert list(scratch.iterdir()) == []


def test_prune(tmp_path: Path) -> None:
    samples = {"x": np.random.default_rng(1).standard_normal((4, 3, 8, 8)).astype(np.float32)}
    budgets: dict[Kind, float | str] = {"macs": "60%"}
    pruned = serenity_mlir.prune(two_convolutions(), samples, budgets, method="magnitude")
    (variant,) = pruned.report.variants
    assert variant.figures.macs <= 0.6 * pruned.report.unpruned.macs
    kept = {tensor.name: tensor.dims[0] for tensor in pruned.model.graph.initializer}
    assert 0 < min(kept.values()) < 16
    pruned.save(tmp_path / "small.onnx")
    with pytest.raises(serenity_mlir.UsageError, match=r"is ONNX, not \.vmfb"):
        pruned.save(tmp_path / "small.vmfb")
    onnx.checker.check_model(tmp_path / "small.onnx")
    assert f"{variant.figures.macs:,.0f}" in text(pruned)
    with pytest.raises(BudgetExceeded, match="macs comes down to"):
        serenity_mlir.prune(two_convolutions(), samples, {"macs": 1}, method="magnitude")


def test_schedule_and_plan_show_their_proof() -> None:
    buffers = (Buffer("a", 64), Buffer("b", 128), Buffer("c", 64, live_out=True))
    graph = MemoryGraph((Op("x", (0,)), Op("y", (0, 1)), Op("z", (1, 2))), buffers, ((), (0,), (1,)))
    order = serenity_mlir.schedule(graph)
    arena = serenity_mlir.plan([Slice(0, 2, 64), Slice(1, 3, 128), Slice(2, 3, 64)])
    for result, size in ((order, order.peak), (arena, arena.size)):
        assert size == 192
        assert json.loads(result.to_json())["optimal"] is True
        assert "proven optimal" in text(result)
        assert "192" in Cells(result._repr_html_()).found
