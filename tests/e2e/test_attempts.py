"""A crash that only a rewrite leads to costs the rewrite, not the compilation."""

from __future__ import annotations

from pathlib import Path

import pytest
from contained_harness import Place
from tiny_models import quantised_block

from serenity_mlir.report import Report, read_report

PADS = "serenity_mlir.dialect_passes.flow.pad_on_read"
LOWER = "serenity_mlir.pipelines.lower_rewritten"
PATTERN = "pad-on-read"
MEMORY = ("--objective", "memory")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(*(tmp_path / name for name in ("in", "out", "tmp", "seeds")))
    for folder in (made.inputs, made.out, made.tmp, made.seeds):
        folder.mkdir()
    (made.inputs / "m.onnx").write_bytes(quantised_block().SerializeToString())
    return made


def compiled(place: Place) -> tuple[str, Report]:
    """What a successful compilation says, and its report."""
    report = place.out / "r.json"
    done = place.run(
        "serenity", "compile", "m.onnx", "-o", place.out / "m.vmfb", "--report", report, *MEMORY, "--verify"
    )
    assert done.returncode == 0, done.stderr
    assert (place.out / "m.vmfb").stat().st_size
    assert not list(place.tmp.iterdir())
    return done.stderr, read_report(report)


def patterns(report: Report) -> set[str]:
    return {item.pattern for item in report.rewrites}


def test_nothing_is_said_where_nothing_crashes(place: Place) -> None:
    said, report = compiled(place)
    assert "note:" not in said
    assert report.rewrites
    assert not report.warnings
    assert not any("crashed" in item.reason for item in report.considered)


def test_a_crash_in_a_trial(place: Place) -> None:
    """What removes padding aborts: others are still tried, and the report says why not this one."""
    place.patch(PADS, "_unpad", "lambda padded: os.abort()")
    said, report = compiled(place)
    assert "note: m.onnx: the compiler crashed (SIGABRT) during 'choose rewrites'; once more without" in said
    assert PATTERN not in patterns(report)
    reasons = [item.reason for item in report.considered if item.pattern == PATTERN]
    assert any("crashed (SIGABRT)" in reason for reason in reasons)
    assert any("crashed (SIGABRT)" in warning for warning in report.warnings)


@pytest.mark.parametrize("module", [PADS, LOWER])
def test_a_crash_wherever_rewrites_are_looked_for_or_applied(module: str, place: Place) -> None:
    """In the search for sites, or in the compilation of the program with those that were chosen."""
    name = "find" if module == PADS else "_applied"
    place.patch(module, name, "lambda *arguments: os.kill(os.getpid(), 11)")
    said, report = compiled(place)
    assert "the compiler crashed (SIGSEGV)" in said
    assert "crashed (SIGSEGV)" in report.warnings[0]
    assert not report.rewrites


def test_a_fault_of_ours_in_a_rewrite(place: Place) -> None:
    place.patch(PADS, "_unpad", "lambda padded: [][0]")
    said, report = compiled(place)
    assert "note: m.onnx: this is a fault of serenity during 'choose rewrites': IndexError" in said
    assert PATTERN not in patterns(report)


def test_each_of_many_models_is_contained(place: Place) -> None:
    place.patch(PADS, "_unpad", "lambda padded: os.abort()")
    done = place.run("serenity", "analyze", ".", *MEMORY, "--output", place.out / "all")
    assert done.returncode == 0, done.stderr
    (found,) = (
        read_report(path) for path in place.out.glob("all/**/*.json") if b'"dispatches"' in path.read_bytes()
    )
    assert any("crashed (SIGABRT)" in warning for warning in found.warnings)
