"""`serenity bench paper`: its figures, its files, its refusals."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest

from serenity_mlir.arena import ArenaPlan, plan
from serenity_mlir.arena.tflite_layout import tflite_layout
from serenity_mlir.liveness import Slice, live_ranges, peak
from serenity_mlir.pipelines.bench import paper
from serenity_mlir.pipelines.bench.networks import darts_normal_cell, randwire_stage
from serenity_mlir.pipelines.cli import main as cli

QUICK = ("--time-limit", "0.1", "--orders", "40")
"""Searches end wherever they are then: for what does not depend on figures."""

FINISHED = ("--time-limit", "60", "--orders", "40")
"""With the fixture `small` every search ends by itself, in a second altogether: for figures."""

NODES = 12


def run(*arguments: object) -> int:
    return cli.main(["bench", "paper", *map(str, arguments)])


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with nothing beside it."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """RandWire's stages with fewer nodes."""
    monkeypatch.setattr(paper, "_NODES", NODES)


@pytest.mark.usefixtures("small")
def test_figures_tables_and_files(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*FINISHED, "--json", "p.json", "-o", "p.md") == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "SwiftNet's cells are left out" in shown.err
    report: dict[str, Any] = json.loads((elsewhere / "p.json").read_text())
    cells = {cell["name"]: cell for cell in report["cells"]}
    assert list(cells) == [
        "DARTS normal cell",
        *(
            f"RandWire {name}"
            for name in ("CIFAR10 A", "CIFAR10 B", "CIFAR100 A", "CIFAR100 B", "CIFAR100 C")
        ),
    ]
    graphs = {
        "DARTS normal cell": darts_normal_cell().memory_graph(),
        "RandWire CIFAR100 C": randwire_stage(NODES, channels=312, size=4, seed=4).memory_graph(),
    }
    for name, graph in graphs.items():
        assert cells[name]["ops"] == len(graph.ops)
        assert cells[name]["file_order"] == peak(graph, graph.file_order)
        assert cells[name]["tflite"] == tflite_layout(live_ranges(graph, graph.file_order)).size
    for cell in cells.values():
        variant, chained, rewritten = cell["variants"]
        assert [one["name"] for one in cell["variants"]] == ["dp", "dp+chained", "dp+rewriting"]
        assert variant["lower_bound"] <= variant["peak"] <= cell["file_order"]
        assert variant["peak"] <= variant["arena"] <= cell["tflite"]
        assert rewritten["peak"] <= chained["peak"] <= variant["peak"]
        for one in cell["variants"]:
            assert one["ratio"] == cell["tflite"] / one["arena"]
            assert [item["on_chip"] >> 10 for item in one["traffic"]] == [32, 64, 128, 256]
            assert [item["before"] for item in one["traffic"]] == [
                item["before"] for item in variant["traffic"]
            ]
        if "RandWire" in cell["name"]:  # no concatenation: the same graph in the same order
            assert rewritten == variant | {"name": "dp+rewriting"}
        assert [item["method"] for item in cell["ablation"]] == ["dp", "dp+dc", "dp+dc+asb", "default"]
        assert all(item["lower_bound"] <= variant["peak"] for item in cell["ablation"])
        assert sum(count for _, count in cell["random"]["peaks"]) == cell["random"]["orders"] == 40
        assert cell["random"]["peaks"][0][0] >= variant["lower_bound"]
        for figure in (cell["file_order"], cell["tflite"], variant["arena"], rewritten["arena"]):
            assert f"{figure:,}" in shown.err
    assert cells["DARTS normal cell"]["variants"][2]["split"] == ["Conv_33"]
    for index, name in enumerate(("dp", "dp+chained", "dp+rewriting")):
        ratios = [cell["variants"][index]["ratio"] for cell in cells.values()]
        assert report["geomean"][name] == pytest.approx(geometric_mean(ratios))
    assert report["recalled_confirmed"] is False
    assert "NOT confirmed" in shown.err
    assert "…" not in shown.err
    text = (elsewhere / "p.md").read_text()
    assert "`serenity bench paper --time-limit 60 --orders 40 -o p.md`" in text
    assert f"| {cells['DARTS normal cell']['tflite']:,} |" in text


@pytest.mark.usefixtures("small")
def test_no_ranges_are_packed_twice(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However far a search of an arena comes: what is the same has the same figures."""
    asked: list[Sequence[Slice]] = []

    def planner(ranges: Sequence[Slice], *, alignment: int, time_limit: float) -> ArenaPlan:
        asked.append(ranges)
        found = plan(ranges, alignment=alignment, time_limit=time_limit)
        return replace(found, size=found.size + len(asked))  # no two searches end alike

    monkeypatch.setattr(paper, "plan", planner)
    assert run(*FINISHED, "--json", "p.json") == 0
    cells = json.loads((elsewhere / "p.json").read_text())["cells"]
    darts, *stages = (cell["variants"] for cell in cells)
    assert len({one["arena"] for one in darts}) == 3
    for variant, chained, rewritten in stages:
        assert chained == variant | {"name": "dp+chained"}
        assert rewritten == variant | {"name": "dp+rewriting"}
    assert len(asked) == len(darts) + len(stages)


@pytest.mark.usefixtures("small")
def test_swiftnet_is_read_and_the_whole_net_is_no_part_of_the_mean(shared: Path, elsewhere: Path) -> None:
    folder = shared / "data" / "swiftnet_cells"
    assert run("--time-limit", 60, "--orders", 2000, "--swiftnet", folder, "--json", "p.json") == 0
    report = json.loads((elsewhere / "p.json").read_text())
    cells = {cell["name"]: cell for cell in report["cells"]}
    least = {
        name: [variant["peak"] for variant in cell["variants"]]
        for name, cell in cells.items()
        if "SwiftNet" in name
    }
    assert least == {
        "SwiftNet A": [275_968, 200_704, 188_160],
        "SwiftNet B": [122_304, 62_720, 53_312],
        "SwiftNet C": [53_900, 23_128, 16_856],
        "SwiftNet, whole net": [275_968, 200_704, 200_704],
    }
    ours = [cell["variants"][0]["ratio"] for name, cell in cells.items() if name != "SwiftNet, whole net"]
    assert report["geomean"]["dp"] == pytest.approx(geometric_mean(ours))
    recalled = [cell["recalled"] for cell in cells.values() if "recalled" in cell]
    assert len(recalled) == 9
    # What is recalled of single cells fits what the abstract states, which is some evidence for it.
    for key in ("dp", "rewriting"):
        mean = geometric_mean(one["tflite"] / one[key] for one in recalled)
        assert mean == pytest.approx(report["published"][key], abs=0.01)
    for cell in cells.values():
        for variant in cell["variants"]:
            for item in variant["traffic"]:
                fits = variant["peak"] <= item["on_chip"]
                assert (item["after"] == {"in": 0, "out": 0}) == fits


@pytest.mark.parametrize(("suffix", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_plot(suffix: str, begins: bytes, elsewhere: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run(*QUICK, "--plot", f"p.{suffix}", "-o", "p.md") == 0
    data = (elsewhere / f"p.{suffix}").read_bytes()
    assert data.startswith(begins)
    assert f"](p.{suffix})" in (elsewhere / "p.md").read_text()
    assert suffix == "png" or data.count(b"RandWire CIFAR") == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plot", "p.pdf"], "name a file .svg or .png"),
        (["--swiftnet", "nowhere"], "no folder 'nowhere'"),
        (["--json", "p.json", "-o", "p.json"], "one name"),
        (["--json", "nowhere/p.json"], "no folder"),
        (["--orders", "0"], "--orders"),
    ],
)
def test_refusals(
    arguments: list[str], said: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) != 0
    assert said in capsys.readouterr().err
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    "case",
    [
        ("matplotlib", "pip install 'serenity-mlir[plot]'", ["--plot", "p.svg"]),
        ("networkx", "pip install networkx", []),
    ],
    ids=["matplotlib", "networkx"],
)
def test_an_extra_that_is_missing_is_named(
    case: tuple[str, str, list[str]],
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    package, hint, arguments = case
    monkeypatch.setitem(sys.modules, package, None)
    assert run(*QUICK, *arguments) == 1
    assert hint in capsys.readouterr().err
    assert not list(elsewhere.iterdir())
