"""Every kind of output, and the flags that act on the way there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dropin_harness import CHAIN, TARGET, branch_inputs, branches, built, dropin, invoke, stock

WIDE = 32 * 256 * 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `in.mlir`, whose order and arena we change, and `chain.mlir`, which stays as it is."""
    (tmp_path / "in.mlir").write_text(branches())
    (tmp_path / "chain.mlir").write_text(CHAIN)
    return tmp_path


@pytest.mark.parametrize("phase", ["stream", "hal", "vm"])
@pytest.mark.parametrize("bytecode", [False, True])
def test_stock_goes_on_from_any_phase(phase: str, bytecode: bool, folder: Path) -> None:
    more = ["--emit-mlir-bytecode"] if bytecode else []
    stopped = built(dropin("in.mlir", *TARGET, f"--compile-to={phase}", *more, cwd=folder))
    assert stopped.startswith(b"ML\xefR") is bytecode
    finished = built(stock("-", f"--compile-from={phase}", data=stopped))
    _, peak = invoke(finished, branch_inputs(), folder)
    assert peak < sum(item.nbytes for item in branch_inputs()) + 2 * WIDE


def test_phases_before_ours_are_those_of_stock(folder: Path) -> None:
    for flag in ("--compile-to=flow", "--compile-to=input", "--compile-mode=precompile"):
        arguments = ("in.mlir", *TARGET, flag)
        assert built(dropin(*arguments, cwd=folder)) == built(stock(*arguments, cwd=folder))


def test_going_on_from_flow(folder: Path) -> None:
    flow = built(stock("in.mlir", *TARGET, "--compile-to=flow", "--emit-mlir-bytecode", cwd=folder))
    stopped = built(dropin("-", "--compile-from=flow", "--compile-to=stream", data=flow))
    assert stopped == built(dropin("in.mlir", *TARGET, "--compile-to=stream", cwd=folder))


@pytest.mark.parametrize(
    "flags",
    [
        ["--output-format=vm-asm"],
        ["--output-format=vm-c"],
        ["--iree-vm-bytecode-module-output-format=flatbuffer-text"],
        ["--compile-to=hal", "--mlir-print-debuginfo"],
        ["--compile-to=stream", "--mlir-print-op-generic"],
        ["--verify=false", "-iree-vm-target-index-bits=32"],
        ["--iree-execution-model=inline-dynamic"],
        ["--iree-execution-model=async-external"],
    ],
    ids=lambda flags: flags[0].lstrip("-"),
)
def test_formats_and_styles_are_those_of_stock(flags: list[str], folder: Path) -> None:
    arguments = ("chain.mlir", *TARGET, *flags)
    assert built(dropin(*arguments, cwd=folder)) == built(stock(*arguments, cwd=folder))


def test_static_library_and_c_source(folder: Path) -> None:
    """The calls of IREE's CMake functions for programs without a runtime loader."""
    library = (
        "--iree-llvmcpu-link-embedded=false",
        "--iree-llvmcpu-link-static",
        "--iree-llvmcpu-static-library-output-path=model.o",
    )
    done = dropin("in.mlir", *TARGET, *library, "--output-format=vm-c", "-o=model_emitc.h", cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    assert {"model.o", "model.h", "model_emitc.h"} <= {path.name for path in folder.iterdir()}
    assert str(WIDE) in (folder / "model_emitc.h").read_text()


def test_stdin_and_stdout(folder: Path) -> None:
    text = (folder / "chain.mlir").read_bytes()
    arguments = ("-", *TARGET, "-o", "-")
    assert built(dropin(*arguments, data=text)) == built(stock(*arguments, data=text))


def test_target_flags_reach_code_generation(folder: Path) -> None:
    wide = ("--iree-llvmcpu-target-cpu", "skylake-avx512", "--compile-to=executable-targets")
    assert b'cpu = "skylake-avx512"' in built(dropin("chain.mlir", *TARGET[:2], *wide, cwd=folder))


def test_parts_of_a_split_file(folder: Path) -> None:
    (folder / "two.mlir").write_text(f"{CHAIN}// -----\n{CHAIN.replace('@main', '@other')}")
    arguments = ("two.mlir", *TARGET, "--split-input-file", "--compile-to=stream")
    assert built(dropin(*arguments, cwd=folder)) == built(stock(*arguments, cwd=folder))


@pytest.mark.parametrize("style", ["pretty", "verbose", "csv", "json"])
def test_statistics(style: str, folder: Path) -> None:
    flags = (
        f"--iree-scheduling-dump-statistics-format={style}",
        "--iree-scheduling-dump-statistics-file=some file",
    )
    seen = []
    for run in (dropin, stock):
        done = run("chain.mlir", *TARGET, *flags, "--compile-to=stream", cwd=folder)
        assert done.returncode == 0, done.stderr.decode()
        text = (folder / "some file").read_text()
        seen.append(json.loads(text) if style == "json" else text)
    assert seen[0] == seen[1]


def test_statistics_are_of_our_slab(folder: Path) -> None:
    flags = ("--iree-scheduling-dump-statistics-format=json", "--iree-scheduling-dump-statistics-file=-")
    sizes = []
    for run in (dropin, stock):
        figures = json.loads(built(run("in.mlir", *TARGET, *flags, "-o", "x", cwd=folder)))
        sizes.append(figures["stream-aggregate"]["execution"]["transient-memory-size"])
    assert sizes[0] < sizes[1] / 2


def test_dump_of_each_phase(folder: Path) -> None:
    seen = []
    for run in (dropin, stock):
        to = folder / f"phases {run.__name__}"
        flags = (f"--dump-compilation-phases-to={to}", "--compile-to=executable-sources")
        built(run("chain.mlir", *TARGET, *flags, cwd=folder))
        seen.append({path.name: path.read_text() for path in to.iterdir()})
    assert "chain.7.stream.mlir" in seen[0]
    assert seen[0] == seen[1]


def test_ir_after_each_pass(folder: Path) -> None:
    flags = ("--mlir-print-ir-after-all", "--mlir-disable-threading", "--mlir-print-ir-module-scope")
    passes = []
    for run in (dropin, stock):
        done = run("chain.mlir", *TARGET, *flags, "--compile-to=stream", cwd=folder)
        assert done.returncode == 0
        passes.append({line for line in done.stderr.splitlines() if b"IR Dump After" in line})
    assert passes[1]
    assert passes[1] <= passes[0]


def test_alignment_of_slices(folder: Path) -> None:
    report = folder / "report.json"
    flag = "--iree-stream-resource-min-offset-alignment=16384"
    built(dropin("in.mlir", *TARGET, flag, "--compile-to=stream", f"--serenity-report={report}", cwd=folder))
    memory = json.loads(report.read_text())["memory"]
    assert memory["slab"] == memory["final"]["arena"]
    assert memory["slab"] % 16384 == 0
    assert memory["slab"] > WIDE + 16384  # each narrow tensor takes up a whole unit


def test_partitioning_flag_is_said_to_have_no_effect(folder: Path) -> None:
    flag = "--iree-stream-partitioning-favor=max-concurrency"
    done = dropin("chain.mlir", *TARGET, flag, "--compile-to=stream", cwd=folder)
    assert done.returncode == 0
    assert b"has no effect" in done.stderr


def test_help_shows_ours_first_then_all_of_stock() -> None:
    text = built(dropin("--help"))
    assert text.startswith(b"Serenity options:")
    assert text.endswith(built(stock("--help")))


@pytest.mark.parametrize("flag", ["--version", "--iree-hal-list-target-backends", "-iree-list-plugins"])
def test_information_is_that_of_stock(flag: str) -> None:
    assert built(dropin(flag)) == built(stock(flag))
