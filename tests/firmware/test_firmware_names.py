"""A buffer has one name: in the arena map of a library, in reports and in tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from firmware_harness import serenity
from small_networks import write_float

from serenity_mlir.report import read_report
from serenity_mlir.views.rows import live_table, peak_region


@pytest.mark.parametrize("io", ["arena", "external"])
def test_the_arena_map_has_the_names_of_the_report(io: str, tmp_path: Path) -> None:
    model, library, figures = write_float(tmp_path / "m.onnx"), tmp_path / "net", tmp_path / "r.json"
    more = ("--io", io, "--report", figures, "--timeline")
    done = serenity("compile", model, "--emit", "firmware", "--target", "host", "-o", library, *more)
    assert done.returncode == 0, done.stderr
    placed = json.loads((library / "metadata.json").read_text("utf-8"))["arena_map"]
    report = read_report(figures)
    region = peak_region(report)
    assert region is not None
    lifetimes = region.after.buffers
    assert len(lifetimes) > 3
    expected = {(item.name, item.nodes, item.offset, item.size, item.first, item.last) for item in lifetimes}
    assert {
        (item["name"], tuple(item["nodes"]), item["offset"], item["bytes"], item["first"], item["end"] - 1)
        for item in placed
    } == expected
    assert ("input 0" in {item["name"] for item in placed}) == (io == "arena")
    for row in live_table(region).rows:
        assert any(item["name"].endswith(row[0]) and ", ".join(item["nodes"]) == row[1] for item in placed)
