"""One analysis says the same in its table, JSON, page, picture and trace."""

from __future__ import annotations

import html
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from browsing import Page
from selenium.webdriver import Chrome

from serenity_mlir.arena.minimalloc_csv import read_csv
from serenity_mlir.arena.problem import live_peak
from serenity_mlir.pipelines.cli import main as cli

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from branches import write_branches

FILES = ("--json", "--html", "--plot", "--trace", "--model-explorer", "--dot", "--csv", "--annotated-onnx")
SUFFIXES = (".json", ".html", ".svg", ".trace", ".explorer", ".dot", ".csv", ".onnx")


@dataclass(frozen=True)
class Said:
    """Bytes at the peak and of the arena, in file order and as compiled; None where not said."""

    file_peak: int | None
    file_arena: int | None
    peak: int | None
    arena: int | None


@dataclass(frozen=True)
class Analysis:
    """What one run wrote."""

    table: str
    files: dict[str, Path]

    def text(self, option: str) -> str:
        return self.files[option].read_text("utf-8")


@pytest.fixture(scope="module", params=["external", "arena"])
def analysis(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("analysis")
    model = write_branches(folder / "branches.onnx")
    files = {option: folder / f"out{suffix}" for option, suffix in zip(FILES, SUFFIXES, strict=True)}
    written = [word for option, path in files.items() for word in (option, str(path))]
    printed = folder / "printed"
    with pytest.MonkeyPatch.context() as patch, printed.open("w") as stream:
        patch.setattr(sys, "stderr", stream)
        assert cli.main(["analyze", str(model), "--io", request.param, "--no-rewrite", *written]) == 0
    return Analysis(printed.read_text(), files)


@pytest.fixture(scope="module")
def expected(analysis: Analysis) -> Said:
    memory = json.loads(analysis.text("--json"))["memory"]
    before, after = memory["file_order"], memory["final"]
    assert after["peak"] < before["peak"]
    return Said(before["peak"], before["arena"], after["peak"], after["arena"])


def sizes(text: str) -> list[int]:
    """What is written as bytes."""
    return [int(found.replace(",", "")) for found in re.findall(r"([\d,]*\d) bytes? \(", text)]


def test_table(analysis: Analysis, expected: Said) -> None:
    def row(name: str) -> list[int]:
        (line,) = re.findall(rf"^{name} .*$", analysis.table, re.MULTILINE)
        whole = re.findall(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d.,])", line)
        return [int(found.replace(",", "")) for found in whole]

    assert row("live peak") == [expected.file_peak, expected.peak]
    assert row("arena") == [expected.file_arena, expected.arena]


def test_page(analysis: Analysis, expected: Said, browser: Chrome) -> None:
    page = Page(browser, analysis.files["--html"])
    assert sizes(page.text("#live-legend")) == [expected.peak, expected.file_peak]
    assert sizes(page.text("#after-arena")) == [expected.arena]
    assert sizes(page.text("#before-arena")) == [expected.file_arena]
    live, arena = page.do(
        "return [...document.querySelectorAll('.tile')].slice(0, 2).map((t) => t.innerText)"
    )
    assert sizes(live) == [expected.peak, expected.file_peak]
    assert sizes(arena) == [expected.arena, expected.file_arena]
    lines = "return page.charts.live.parts.map(({source}) => 1024 * Math.max(...source.data.live))"
    assert page.do(lines) == [expected.file_peak, expected.peak]
    drawn = "return 1024 * Math.max(...page.charts[arguments[0]].source.data.top)"
    assert page.do(drawn, "after") == expected.arena
    assert page.do(drawn, "before") == expected.file_arena


def test_picture(analysis: Analysis, expected: Said) -> None:
    words = html.unescape(analysis.text("--plot"))

    def said(pattern: str) -> list[int]:
        return [size for line in re.findall(rf">{pattern}[^<]*<", words) for size in sizes(line)]

    assert said("file order: ") == [expected.file_peak] * 2
    assert said("as compiled: ") == [expected.peak] * 2
    assert said("Arena, file order: ") == [expected.file_arena]
    assert said("Arena, as compiled: ") == [expected.arena]


def test_trace(analysis: Analysis, expected: Said) -> None:
    events = json.loads(analysis.text("--trace"))["traceEvents"]
    found = []
    for process in (2, 1):
        own = [event for event in events if event["pid"] == process]
        found.append(max(event["args"]["bytes"] for event in own if event["ph"] == "C"))
        boxes = [event["args"] for event in own if "offset_bytes" in event["args"]]
        found.append(max(box["offset_bytes"] + box["size_bytes"] for box in boxes))
    assert Said(*found) == expected


def test_node_data_graph_and_csv(analysis: Analysis, expected: Said) -> None:
    (graph,) = json.loads(analysis.text("--model-explorer")).values()
    assert max(result["value"] for result in graph["results"].values()) == expected.peak
    assert max(sizes(analysis.text("--dot").replace("\\n", " "))) == expected.peak
    records = read_csv(analysis.files["--csv"])
    assert max((item.offset or 0) + item.slice.size for item in records) == expected.arena
    slices = [item.slice for item in records]
    starts, ends = [item.start for item in slices], [item.end for item in slices]
    assert live_peak(starts, ends, [item.size for item in slices]) == expected.peak


def test_annotated_model(analysis: Analysis, expected: Said) -> None:
    model = onnx.load(analysis.files["--annotated-onnx"])
    onnx.checker.check_model(model)
    found = {node.name: {item.key: item.value for item in node.metadata_props} for node in model.graph.node}
    assert max(int(item["serenity.live_bytes"]) for item in found.values()) == expected.peak
    events = json.loads(analysis.text("--trace"))["traceEvents"]
    ops = [event["args"] for event in events if (event["pid"], event["ph"], event["tid"]) == (1, "X", 0)]
    for name, item in found.items():
        steps = [op["step"] for op in ops if name in op["nodes"].split(", ")]
        assert [int(step) for step in item["serenity.steps"].split(", ")] == steps != []
        assert int(item["serenity.live_bytes"]) == max(ops[step]["live_bytes"] for step in steps)


def test_random_orders_are_legal_orders_of_the_same_ops(analysis: Analysis, expected: Said) -> None:
    (block,) = re.findall(
        r'<script id="data" type="application/json">(.*?)</script>', analysis.text("--html")
    )
    (orders,) = json.loads(block)["orders"]
    assert sum(count for _, count in orders["peaks"]) == 1000
    assert min(size for size, _ in orders["peaks"]) >= (expected.peak or 0)


def test_two_outputs_of_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = str(tmp_path / "same")
    assert cli.main(["analyze", "absent.onnx", "--html", same, "--trace", same]) == 2
    assert "two outputs have one name" in capsys.readouterr().err
