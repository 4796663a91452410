"""`serenity compile` and `serenity analyze`: outputs, report, exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from branches import write_branches
from click.testing import CliRunner, Result

import serenity_mlir.pipelines.verify as verifying
from serenity_mlir.errors import EXIT_OVER_BUDGET, SerenityError
from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.report import read_report

Invoke = Callable[..., Result]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_branches(tmp_path_factory.mktemp("models") / "branches.onnx")


FINISHED = ("--time-limit", "60", "--rewrite-limit", "600")
"""For two runs that are to come to the same: searches end by themselves, seconds in."""

ONLY_ORDER = ("--no-rewrite", "--no-regions")
"""What leaves the ops as the model and IREE have them."""


def run(*arguments: object) -> int:
    """The exit status of a command line."""
    return cli.main([str(argument) for argument in arguments])


def ordered(command: str, *arguments: object) -> int:
    """The exit status of a command line that chooses no rewrites."""
    return run(command, *ONLY_ORDER, *arguments)


def test_the_order_is_found_and_lands_in_the_artefact(model: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    status = ordered(
        "compile", model, "-o", tmp_path / "m.vmfb", "--compare-stock", "--verify", "--report", report
    )
    assert status == 0
    memory = read_report(report).memory
    assert memory.stock is not None
    # One wide buffer of 64 x 32 x 32 floats at a time instead of four, and its padded input.
    assert memory.slab == memory.final.arena == memory.final.peak == 382_080
    assert memory.optimal
    assert memory.stock.best is not None
    assert memory.stock.best >= 3 * memory.slab
    assert (tmp_path / "m.vmfb").stat().st_size > 10_000


def test_the_report_keeps_its_contract(model: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert run("analyze", model, "--compare-stock", "--json", report) == 0
    found: dict[str, Any] = json.loads(report.read_text())
    assert found["schema_version"] == 1
    assert found.keys() >= {"model", "target", "iree_version", "memory", "schedule", "rewrites", "seconds"}
    assert found["model"].keys() == {"path", "sha256", "format"}
    assert found["memory"].keys() == {
        *("stock", "file_order", "final", "lower_bound", "optimal", "gap"),
        *("slab", "inputs", "outputs", "weights", "ram"),
    }
    assert found["memory"]["stock"].keys() == {"max_concurrency", "min_peak_memory", "debug", "best"}
    assert found["memory"]["final"].keys() == {"peak", "arena"}
    assert found["schedule"].keys() == {"method", "ops", "states", "seconds", "segments"}
    assert found["seconds"].keys() == {"import", "schedule", "arena", "iree", "total"}
    memory = found["memory"]
    assert memory["ram"] == memory["slab"] + memory["inputs"] + memory["outputs"]
    assert memory["inputs"] == memory["outputs"] == 8 * 32 * 32 * 4
    assert memory["weights"] == 4 * (4 * 64 * 8 * 9 + 4 * 4 * 64 * 9 + 8 * 16 * 9)


def test_analyze_predicts_what_compile_allocates(model: Path, tmp_path: Path) -> None:
    predicted, compiled = tmp_path / "a.json", tmp_path / "c.json"
    assert run("analyze", model, *FINISHED, "--json", predicted) == 0
    assert run("compile", model, *FINISHED, "-o", tmp_path / "m.vmfb", "--report", compiled) == 0
    assert read_report(predicted).memory == read_report(compiled).memory


@pytest.mark.parametrize("method", ["dp", "dp+dc+asb"])
def test_a_method_can_be_chosen(model: Path, tmp_path: Path, method: str) -> None:
    report = tmp_path / "report.json"
    assert ordered("analyze", model, "--method", method, "--json", report) == 0
    found = read_report(report)
    assert method in found.schedule.method
    assert found.memory.final.peak == 382_080
    assert found.memory.optimal


def test_without_schedule_and_arena_it_is_stock(model: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert ordered("analyze", model, "--no-schedule", "--no-arena", "--compare-stock", "--json", report) == 0
    memory = read_report(report).memory
    assert memory.stock is not None
    assert memory.slab == memory.stock.debug
    assert memory.final.peak == memory.file_order.peak


def test_the_table_shows_the_figures_of_the_report(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert run("analyze", model, "--compare-stock", "--json", report) == 0
    shown = capsys.readouterr()
    memory = read_report(report).memory
    assert memory.stock is not None
    for value in (memory.stock.best, memory.file_order.arena, memory.final.arena, memory.ram, memory.weights):
        assert f"{value:,}" in shown.err
    assert "proven optimal" in shown.err
    assert shown.out == ""


def test_off_chip_traffic_is_in_the_report_and_shown_when_asked_for(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert ordered("analyze", model, "--json", report) == 0
    assert "off-chip" not in capsys.readouterr().err
    found = read_report(report)
    assert [item.on_chip for item in found.traffic] == [size << 10 for size in (32, 64, 128, 256)]
    assert found.memory.final.peak is not None
    assert found.memory.final.peak > 256 << 10
    for item in found.traffic:
        assert min(item.before.in_, item.before.out, item.after.in_, item.after.out) > 0
    assert found.traffic[-1].after.out < found.traffic[0].after.out
    assert json.loads(report.read_text())["traffic"][0]["before"].keys() == {"in", "out"}
    assert ordered("analyze", model, "--traffic") == 0
    before, after = found.traffic[-1].before, found.traffic[-1].after
    row = f"256.0 KiB {before.in_ + before.out:,} {after.in_ + after.out:,} {after.in_:,} {after.out:,}"
    assert row.split() in [line.split() for line in capsys.readouterr().err.splitlines()]


def test_dispatches_are_in_the_report_and_shown_when_asked_for(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert ordered("analyze", model, "--json", report, "--dispatches") == 0
    shown = capsys.readouterr().err.splitlines()
    found = read_report(report)
    (head,) = (number for number, line in enumerate(shown) if line.startswith("dispatch "))
    rows = shown[head + 2 : head + 2 + len(found.dispatches)]
    for item, row in zip(found.dispatches, rows, strict=True):
        assert row.startswith(", ".join(item.nodes[:4]))
        assert f"{item.read:,}" in row.split()
        assert f"{item.stored:,}" in row.split()
    assert found.rom is not None
    assert any(line.split()[:2] == ["weights", f"{found.rom.model:,}"] for line in shown)
    assert ordered("analyze", model) == 0
    assert not any(line.startswith("dispatch ") for line in capsys.readouterr().err.splitlines())


def test_markdown_has_the_tables_that_are_asked_for(model: Path, tmp_path: Path) -> None:
    report, text = tmp_path / "report.json", tmp_path / "tables.md"
    asked = ("--dispatches", "--traffic", "--json", report, "--markdown", text)
    assert ordered("analyze", model, *asked) == 0
    found, rows = read_report(report), text.read_text().splitlines()
    assert "**bytes that each dispatch reads and stores**" in rows
    assert len(found.dispatches) > 1
    for item in found.dispatches:
        assert any(f"| {item.read:,} |" in row and f"| {item.stored:,} |" in row for row in rows)
    assert "**bytes of off-chip traffic**" in rows
    for moved in found.traffic:
        assert any(f"| {moved.before.in_ + moved.before.out:,} |" in row for row in rows)
    assert ordered("analyze", model, "--markdown", text) == 0
    assert "each dispatch" not in text.read_text()
    assert "off-chip" not in text.read_text()


def test_over_budget_names_what_is_live_at_the_peak(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    artefact, log, report = (tmp_path / name for name in ("m.vmfb", "m.sarif", "m.json"))
    over = ("--budget-ram", 1000, "--sarif", log, "--report", report)
    assert run("compile", model, "-o", artefact, *over) == EXIT_OVER_BUDGET
    assert not artefact.exists()
    assert read_report(report).memory.ram
    (result,) = json.loads(log.read_text())["runs"][0]["results"]
    assert result["locations"][0]["logicalLocations"][0]["name"].startswith(("widen", "narrow"))
    message = capsys.readouterr().err
    assert f"note: {artefact} is not written" in message
    assert "more than the budget of 1,000" in message
    assert "widen" in message
    assert "--io arena (inputs and outputs share the arena): saves" in message
    held = ("--budget-ram", 10**9, "--budget-rom", 10**9, "--sarif", log)
    assert run("compile", model, "-o", artefact, *held) == 0
    assert json.loads(log.read_text())["runs"][0]["results"] == []
    before = artefact.read_bytes()
    assert run("compile", model, "-o", artefact, "--budget-rom", 1000) == EXIT_OVER_BUDGET
    assert artefact.read_bytes() == before


def test_ir_goes_to_stdout_and_leaves_no_partitioning(model: Path) -> None:
    result = CliRunner().invoke(
        cli.serenity, ["compile", str(model), "-o", "-", "--emit", "mlir"], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert "stream.cmd.execute" in result.stdout
    assert "stream.partitioning" not in result.stdout
    assert "slab IREE allocates" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "hots"], "did you mean 'host'"),
        (["--target", "cortex-m7"], "`serenity compile --emit firmware` takes it"),
        (["--target", "mine.toml"], "target 'mine.toml' is for firmware"),
        (["--emit", "firmware"], "firmware needs a --target, and 'generic' is none"),
        (["--budget-ram", "64KB"], "'64KB' is no size such as 512, 4KiB or 1MiB"),
        (["--budget-rom", "-1"], "'-1' is no size"),
        (["--emit", "mlir", "--phase", "streem"], "phases are"),
        (["--emit", "mlir", "--verify"], "--verify"),
        (["--phase", "flow"], "--phase is for IR"),
        (["--emit", "firmware", "--target", "host", "-o", "-"], "a firmware library is a folder"),
        (["--emit", "mlir", "--phase", "flow", "--budget-ram", "0"], "--budget-ram is about figures"),
        (["--no-such-option"], "No such option"),
        (["--time-limit", "-1"], "time-limit"),
        (["--time-limit", "nan"], "nan is not a finite number of seconds"),
        (["--rewrite-limit", "inf"], "inf is not a finite number of seconds"),
        (["--io", "arena", "--no-arena"], "leave out one of them"),
        (["--timeline"], "--timeline is part of the report"),
        (["--method", "dc"], "'default', 'dp', 'dp+dc', 'dp+asb', 'dp+dc+asb'"),
        (["--", "--iree-no-such-flag"], "iree-no-such-flag"),
    ],
)
def test_usage(
    model: Path, tmp_path: Path, arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    status = run("compile", model, "-o", tmp_path / "m", *arguments)
    assert status == 2
    assert said in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_timeline_without_a_report(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("analyze", model, "--timeline") == 2
    assert "say --json FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "m.onnx", "-o", "./m.onnx"),
        ("compile", "m.onnx", "-o", "m.vmfb", "--report", "link.onnx"),
        ("analyze", "m.onnx", "--annotated-onnx", "m.onnx"),
    ],
)
def test_the_model_is_not_written_over(
    model: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(model.read_bytes())
    Path("link.onnx").symlink_to("m.onnx")
    assert run(*arguments) == 2
    assert "it is an input of the command" in capfd.readouterr().err
    assert Path("m.onnx").read_bytes() == model.read_bytes()


def test_flags_of_iree_pass_through(model: Path, tmp_path: Path) -> None:
    plain, stripped = tmp_path / "plain.vmfb", tmp_path / "stripped.vmfb"
    assert run("compile", model, "-o", plain) == 0
    assert run("compile", model, "-o", stripped, "--", "--iree-llvmcpu-debug-symbols=false") == 0
    assert stripped.stat().st_size < plain.stat().st_size


def test_an_unexpected_verification_failure_is_an_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "FLOAT_TOLERANCE", -1.0)
    assert run("compile", model, "-o", tmp_path / "m.vmfb", "--verify") == SerenityError.exit_status


def test_inputs_and_outputs_in_the_arena(model: Path, tmp_path: Path) -> None:
    apart, together = tmp_path / "apart.json", tmp_path / "together.json"
    assert ordered("analyze", model, "--json", apart) == 0
    assert ordered("analyze", model, "--io", "arena", "--json", together) == 0
    external, arena = read_report(apart).memory, read_report(together).memory
    assert (external.io, arena.io) == ("external", "arena")
    assert arena.optimal
    assert arena.ram == arena.final.arena == arena.final.peak == arena.lower_bound
    assert arena.ram is not None
    assert external.ram is not None
    assert external.slab is not None
    # The peak comes after the input's last use and before the output's first: no byte more than without them.
    assert external.slab == arena.ram < external.ram
    assert (arena.inputs, arena.outputs) == (external.inputs, external.outputs)


STATEFUL = """
util.global private mutable @state = dense<0.0> : tensor<16xf32>
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %s = util.global.load @state : tensor<16xf32>
  %n = arith.maximumf %s, %x : tensor<16xf32>
  util.global.store %n, @state : tensor<16xf32>
  return %n : tensor<16xf32>
}
"""


def test_a_model_with_state_has_no_whole_arena(tmp_path: Path) -> None:
    path, report = tmp_path / "stateful.mlir", tmp_path / "r.json"
    path.write_text(STATEFUL)
    assert run("analyze", path, "--io", "arena", "--json", report) == 0
    found = read_report(report)
    assert found.memory.io == "external"
    assert found.memory.slab is not None
    assert found.memory.ram == found.memory.slab + 64 + 64
    assert any("counted apart" in text for text in found.warnings)
