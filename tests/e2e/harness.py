"""Compile by the command line, run in a fresh poisoned process, compare."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from serenity_mlir.report import Report, read_report

Arrays = list[npt.NDArray[Any]]
Done = subprocess.CompletedProcess[str]
HERE = Path(__file__).parent
FLOAT_TOLERANCE = 1e-4
# What float32 functions with values around 1 (sigmoid, say) are rounded to.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Run:
    """Two invocations and what the allocator counted."""

    first: Arrays
    second: Arrays
    allocator_peak: int
    poisoned: int | None


def entry_point(tool: str) -> list[str]:
    """The command that `tool` is once installed."""
    module, function = "serenity_mlir.pipelines.cli.contained", tool.replace("-", "_")
    code = f"import sys; from {module} import {function}; sys.exit({function}())"
    return [sys.executable, "-P", "-c", code]


def command(tool: str, *arguments: str | Path, cwd: Path | None = None, **more: Any) -> Done:
    """Run `tool` in a worker process, as users run it; `more` is for `subprocess.run`."""
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run(
        [*entry_point(tool), *map(str, arguments)], text=True, cwd=cwd, check=False, timeout=1800, **more
    )


def serenity(*arguments: str | Path, cwd: Path | None = None) -> Done:
    """The `serenity` command."""
    return command("serenity", *arguments, cwd=cwd)


def compile_model(model: Path, folder: Path, *more: str) -> tuple[Path, Report]:
    """The `.vmfb` and the report; the test fails with the compiler's words where it refuses."""
    artefact, report = folder / "model.vmfb", folder / "report.json"
    # Searches stop at a proof, a fraction of a second in; the limit is for loaded machines.
    limit = ("--time-limit", "60", "--rewrite-limit", "600")
    done = serenity("compile", model, "-o", artefact, "--report", report, *limit, *more)
    assert done.returncode == 0, done.stderr
    return artefact, read_report(report)


def poison_library(folder: Path) -> Path | None:
    """`poison.c` as a library to preload; None where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    library = folder / "poison.so"
    if not library.exists():
        subprocess.run(
            [compiler, "-O1", "-shared", "-fPIC", str(HERE / "poison.c"), "-o", str(library)], check=True
        )
    return library


def run_twice(artefact: Path, inputs: dict[str, npt.NDArray[Any]], slab: int, folder: Path) -> Run:
    """Two invocations of the entry function on `inputs`, the slab poisoned before each."""
    given, made = folder / "in.npz", folder / "out.npz"
    np.savez(given, **inputs)  # type: ignore[arg-type]  # numpy's stub wants its own flag there
    environment = dict(os.environ)
    library = poison_library(folder)
    if library is not None:
        environment["LD_PRELOAD"] = str(library)
    done = subprocess.run(
        [sys.executable, str(HERE / "run_once.py"), str(artefact), str(given), str(made), str(slab)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    with np.load(made) as loaded:
        count = len(loaded.files) // 2
        first, second = ([loaded[f"{turn}_{index}"] for index in range(count)] for turn in range(2))
    return Run(first, second, figures["peak"] - figures["loaded"], figures["poisoned"])


def assert_close(found: Arrays, expected: Arrays) -> None:
    """Integers to the bit; floats to 1e-4 of each output's largest value."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        if other.dtype.kind in "fc":
            scale = float(np.abs(other).max(initial=0.0))
            np.testing.assert_allclose(one, other, rtol=0, atol=FLOAT_TOLERANCE * scale + ROUNDING)
        else:
            np.testing.assert_array_equal(one.view(other.dtype), other)
