"""`serenity analyze --csv`: a model's arena for other tools."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from branches import write_branches

from serenity_mlir.arena import check_plan
from serenity_mlir.arena.minimalloc_csv import Record, read_csv
from serenity_mlir.arena.problem import live_peak
from serenity_mlir.pipelines.arena_csv import field_id
from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.report import read_report

MATMUL = "ins({}, %w : tensor<?x8xf32>, tensor<8x8xf32>) outs(%i : tensor<?x8xf32>) -> tensor<?x8xf32>"
DYNAMIC = f"""
func.func @f(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {{
  %zero = arith.constant 0.0 : f32
  %axis = arith.constant 0 : index
  %rows = tensor.dim %x, %axis : tensor<?x8xf32>
  %e = tensor.empty(%rows) : tensor<?x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %a = linalg.matmul {MATMUL.format("%x")}
  %b = linalg.matmul {MATMUL.format("%a")}
  %c = linalg.matmul {MATMUL.format("%b")}
  return %c : tensor<?x8xf32>
}}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_branches(tmp_path_factory.mktemp("models") / "branches.onnx")


def run(*arguments: object) -> int:
    """The exit status of a command line."""
    return cli.main([str(argument) for argument in arguments])


def peak(records: list[Record]) -> int:
    slices = [record.slice for record in records]
    return live_peak([s.start for s in slices], [s.end for s in slices], [s.size for s in slices])


@pytest.mark.parametrize("io", ["external", "arena"])
def test_the_arena_leaves_and_comes_back(model: Path, tmp_path: Path, io: str) -> None:
    table, figures, again = tmp_path / "arena.csv", tmp_path / "figures.json", tmp_path / "again.csv"
    assert run("analyze", model, "--csv", table, "--json", figures, "--io", io) == 0
    final = json.loads(figures.read_text())["memory"]["final"]
    records = read_csv(table)
    offsets = [record.offset for record in records if record.offset is not None]
    check_plan([record.slice for record in records], offsets, final["arena"], alignment=64)
    assert peak(records) == final["peak"]
    assert run("pack", table, "-o", again, "--alignment", 64, "--capacity", final["arena"]) == 0
    assert [(item.name, item.slice) for item in read_csv(again)] == [(r.name, r.slice) for r in records]
    nodes = {node.name for node in onnx.load(model).graph.node}
    own = [record.name.partition(" ")[2] for record in records if "/" in record.name]
    assert all(set(name.split("+")) <= nodes for name in own)
    held = {record.name for record in records if "/" not in record.name}
    assert all(name.partition(" ")[0] in ("input", "output") and name.count(" ") == 2 for name in held)
    assert len({record.name for record in records}) == len(records)
    assert bool(held) == (io == "arena")


def test_an_id_is_one_field_for_a_reader_without_quotes() -> None:
    assert field_id("f#0/1", ["a,b", 'c "d"\n', "e"]) == "f#0/1 a;b+c 'd' +e"
    assert field_id("input 0", []) == "input 0"


def test_without_an_arena_there_is_nothing_to_write(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("analyze", model, "--csv", tmp_path / "arena.csv", "--no-arena") == 2
    assert "leave out --no-arena" in capsys.readouterr().err
    assert run("analyze", model, "--csv", tmp_path / "same", "--json", tmp_path / "same") == 2
    assert not list(tmp_path.iterdir())


def test_sizes_that_are_not_constant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, table = tmp_path / "dynamic.mlir", tmp_path / "arena.csv"
    source.write_text(DYNAMIC)
    assert run("analyze", source, "--csv", table) == 1
    assert f"{source}: f#0: the arena is not planned: a slice has no constant size" in capsys.readouterr().err
    assert not table.exists()


def test_what_cannot_be_drawn_keeps_nothing_else_from_being_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, report, text = tmp_path / "dynamic.mlir", tmp_path / "report.json", tmp_path / "tables.md"
    source.write_text(DYNAMIC)
    drawn = [tmp_path / "ops.dot", tmp_path / "trace.json", tmp_path / "arena.csv"]
    views = ("--dot", drawn[0], "--trace", drawn[1], "--csv", drawn[2], "--markdown", text, "--traffic")
    assert run("analyze", source, "--json", report, *views) == 1
    said = capsys.readouterr().err
    assert read_report(report).memory.ram is None
    assert "not constant" in text.read_text()
    assert "off-chip traffic: not known" in text.read_text()
    assert not any(path.exists() for path in drawn)
    assert said.count("there is nothing to draw: no region of the model has constant sizes") == 1
    assert said.count("leave out --csv") == 1
