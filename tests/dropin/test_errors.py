"""Wrong input and wrong flags: iree-compile's exit status and words, and no partial output."""

from __future__ import annotations

from pathlib import Path

import pytest
from dropin_harness import BROKEN, CHAIN, TARGET, branches, dropin, serenity, stock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.mlir").write_text(CHAIN)
    (tmp_path / "broken.mlir").write_text(BROKEN)
    (tmp_path / "empty.mlir").write_text("")
    (tmp_path / "torn.mlirbc").write_bytes(b"ML\xefR\x0d\x01")
    (tmp_path / "half.mlir").write_text(f"{CHAIN}// -----\n{BROKEN}")
    (tmp_path / "model.onnx").write_bytes(b"\x00\x01 this is no model")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["broken.mlir", *TARGET],
        ["in.mlir"],  # no target
        ["in.mlir", "--iree-hal-target-device=local"],  # nothing to compile for
        ["in.mlir", "--iree-hal-target-backends=nothing"],
        ["torn.mlirbc", *TARGET],
        ["half.mlir", *TARGET, "--split-input-file", "--compile-to=stream"],
        ["in.mlir", *TARGET, "--iree-input-type=cobol"],
    ],
    ids=lambda arguments: " ".join(item for item in arguments if item not in TARGET),
)
def test_diagnostics_are_those_of_stock_and_a_line_that_names_the_file(
    arguments: list[str], folder: Path
) -> None:
    before = set(folder.iterdir())
    ours, theirs = (run(*arguments, "-o", "out", cwd=folder) for run in (dropin, stock))
    assert ours.returncode == theirs.returncode == 1
    *words, last = ours.stderr.decode().splitlines(keepends=True)
    assert "".join(words) == theirs.stderr.decode()
    assert last.startswith("error: ")
    assert arguments[0] in last
    assert ours.stdout == b""
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent.mlir", *TARGET, "-o", "out"], "cannot open input file: No such file or directory"),
        (["in.mlir", *TARGET, "-o", "no/out"], "cannot open output file: No such file or directory"),
        (["in.mlir", *TARGET, "--iree-nonsense", "-o", "out"], "Unknown command line argument"),
        (["in.mlir", *TARGET, "--iree-opt-level=O9", "-o", "out"], "--iree-opt-level option"),
        (["in.mlir", *TARGET, "-o", "out", "--output-format=elf"], "Cannot find option named 'elf'"),
        (["in.mlir", "in.mlir", "-o", "out"], "Too many positional arguments"),
        (["-o", "out"], "Not enough positional"),
        (["in.mlir", *TARGET, "-o"], "requires a value"),
        (["model.onnx", *TARGET, "-o", "out"], "model.onnx"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults_end_with_status_1_and_no_output(arguments: list[str], words: str, folder: Path) -> None:
    before = set(folder.iterdir())
    done = dropin(*arguments, cwd=folder)
    assert done.returncode == stock(*arguments, cwd=folder).returncode == 1
    assert words in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert set(folder.iterdir()) == before


def test_an_output_that_was_there_survives_a_failure(folder: Path) -> None:
    output = folder / "out"
    output.write_text("precious")
    assert dropin("broken.mlir", *TARGET, "-o", output, cwd=folder).returncode == 1
    assert output.read_text() == "precious"


def test_wrong_flag_of_ours_is_a_usage_error(folder: Path) -> None:
    done = dropin("in.mlir", *TARGET, "--serenity-time-limt=1", "-o", "out", cwd=folder)
    assert done.returncode == 2
    assert "did you mean 'serenity-time-limit'?" in done.stderr.decode()
    assert not (folder / "out").exists()


def test_full_disk(folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = dropin("in.mlir", *TARGET, "-o", "/dev/full", cwd=folder)
    assert done.returncode == 1
    assert b"No space left" in done.stderr


def test_crash_inside_iree_is_contained(folder: Path) -> None:
    """Stock dies of a signal here."""
    done = dropin("in.mlir", *TARGET, "--iree-llvmcpu-target-triple=foo-bar", "-o", "out", cwd=folder)
    assert stock("in.mlir", *TARGET, "--iree-llvmcpu-target-triple=foo-bar", cwd=folder).returncode < 0
    assert done.returncode == 1
    assert b"in.mlir: the compiler crashed" in done.stderr
    assert not (folder / "out").exists()


def test_what_iree_says_after_phase_stream_reaches_the_user(folder: Path) -> None:
    """Copies of the program were made on the way; none of them may swallow it."""
    (folder / "in.mlir").write_text(branches())
    linker = "--iree-llvmcpu-embedded-linker-path=/nowhere"
    done = serenity("compile", folder / "in.mlir", "-o", folder / "out", "--compare-stock", "--", linker)
    assert done.returncode == 1
    assert b"failed to link executable" in done.stderr
    assert b"without saying why" not in done.stderr
