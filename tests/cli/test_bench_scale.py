"""`serenity bench scale`: its table, its graphs, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import serenity_mlir.pipelines.bench.scale as work
from serenity_mlir.errors import CheckFailed, UsageError
from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.bench.scale_graphs import KINDS, named
from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.schedulers import schedule


def run(*arguments: object) -> int:
    """The exit status of `serenity bench scale`."""
    return cli.main(["bench", "scale", *map(str, arguments)])


def test_the_table_has_what_was_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "scale.md"
    assert run("ws16", "ws-unit12", "--seeds", 2, "--cp-sat", 20, "-o", output) == 0
    text = output.read_text()
    for name, seed in (("ws16", 0), ("ws16", 1), ("ws-unit12", 0), ("ws-unit12", 1)):
        graph = named(name, seed)
        found = schedule(graph)
        start = f"| {name} | {seed} | {len(graph.ops)} | {peak(graph, graph.file_order)} | {found.peak} | "
        (line,) = (line for line in text.splitlines() if line.startswith(start))
        assert line.endswith(f"| 10 | {found.peak} |")
    (line,) = (line for line in text.splitlines() if line.startswith("| ws16 | 2 of 2 |"))
    assert line.endswith("| 0.0% | 2 of 2 |")
    assert "`serenity bench scale ws16 ws-unit12 --seeds 2 --limit 10 --method default --cp-sat 20`" in text
    assert "ws-unit12" in capfd.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_are_what_their_name_says(kind: str) -> None:
    graph = named(f"{kind}8", 1)
    assert graph == named(f"{kind}8", 1) != named(f"{kind}8", 2)
    assert len(graph.ops) == {"ws": 10, "ws-unit": 10, "randwire": 272, "nasnet": 345, "local": 8}[kind]
    found = schedule(graph)
    assert found.optimal


@pytest.mark.parametrize("name", ["ws", "ws0", "64", "wz64", "ws6.4"])
def test_other_names_are_refused(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(name) == UsageError.exit_status
    assert f"no graph '{name}'" in capfd.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_of_each_kind(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    smallest = 4 if kind.startswith("ws") else 1
    for size in range(1, smallest):
        assert run(f"{kind}{size}") == UsageError.exit_status
        assert f"the smallest of its kind is {kind}{smallest}" in capfd.readouterr().err
    assert run(f"{kind}{smallest}", "--seeds", 2) == 0


@pytest.mark.parametrize(("module", "arguments"), [("networkx", []), ("ortools", ["--cp-sat", 1])])
def test_an_extra_that_is_absent_is_named(
    module: str, arguments: list[object], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    assert run("ws12", *arguments) == 1
    assert f"pip install {module}, or 'serenity-mlir[dev]'" in capfd.readouterr().err


def test_another_optimum_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "cp_sat_peak", lambda graph, time_limit: 1)
    with pytest.raises(CheckFailed, match="but CP-SAT proves 1"):
        work.measure("ws12", 0, method="default", limit=10, cp_sat=1)
