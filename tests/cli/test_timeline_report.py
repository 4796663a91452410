"""The course of memory in a report: its figures are those of the report, its arena one that holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from branches import write_branches

from serenity_mlir.arena import check_plan
from serenity_mlir.liveness import Slice
from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.report import Report, read_report
from serenity_mlir.timeline import Course, RegionTimeline

CONVS = {f"{kind}{index}" for kind in ("widen", "narrow") for index in range(4)} | {"y"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_branches(tmp_path_factory.mktemp("models") / "branches.onnx")


def analyzed(model: Path, folder: Path, *flags: str) -> tuple[Report, RegionTimeline]:
    figures = folder / "figures.json"
    assert cli.main(["analyze", str(model), "--json", str(figures), "--timeline", *flags]) == 0
    report = read_report(figures)
    (region,) = [item for item in report.timeline if item.role == "model"]
    return report, region


def check(course: Course) -> None:
    """No two buffers that are live at once overlap."""
    slices = [Slice(item.first, item.last + 1, item.size) for item in course.buffers]
    offsets = [item.offset for item in course.buffers if item.offset is not None]
    check_plan(slices, offsets, course.arena or 0, alignment=64)


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--io", "arena"),
        ("--no-rewrite",),
        ("--no-rewrite", "--io", "arena", "--no-schedule"),
        ("--no-arena",),
    ],
)
def test_the_figures_are_those_of_the_report(model: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    report, region = analyzed(model, tmp_path, *flags)
    memory = report.memory
    assert (region.before.peak, region.before.arena) == (memory.file_order.peak, memory.file_order.arena)
    assert (region.after.peak, region.after.arena) == (memory.final.peak, memory.final.arena)
    check(region.before)
    check(region.after)
    assert len(region.after.steps) == report.schedule.ops
    assert report.peak is not None
    assert report.peak.live == region.after.peak
    assert report.peak.op == region.after.steps[region.after.peak_step].label
    assert sum(size for _, size in report.peak.buffers) == report.peak.live


def test_steps_and_buffers_name_nodes(model: Path, tmp_path: Path) -> None:
    _, region = analyzed(model, tmp_path, "--io", "arena")
    named = {node for step in region.after.steps for node in step.nodes}
    assert named >= CONVS
    assert all(item.nodes for item in region.after.buffers)
    assert {item.label for item in region.after.buffers if item.owner != "slab"} == {
        "input 0 [x]",
        "output 0 [y]",
    }


def test_files_have_it_where_it_is_asked_for(model: Path, tmp_path: Path) -> None:
    assert cli.main(["analyze", str(model), "--json", str(tmp_path / "r.json"), "--no-rewrite"]) == 0
    assert "timeline" not in (tmp_path / "r.json").read_text()
