"""One model for one target, analyzed in a process of its own, whose crash is an outcome like any other.

Flags of IREE hold for a whole process, and native code may take its process down: so no two tasks share one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from time import perf_counter

import msgspec

from serenity_mlir.pipelines.cli.captured import Failure, run_captured, scratch_folder
from serenity_mlir.pipelines.scratch import data_files

_REPORT = "report.json"


class Options(msgspec.Struct, frozen=True):
    """How to analyze: options of `serenity analyze` as on its command line, and IREE's flags."""

    own: tuple[str, ...] = ()
    iree: tuple[str, ...] = ()


class Task(msgspec.Struct, frozen=True):
    """What to analyze.

    Attributes:
        model: The file, as people named it.
        target: Where it will run.
        options: How.
    """

    model: str
    target: str
    options: Options = Options()


class Outcome(msgspec.Struct, frozen=True):
    """What came of a task.

    Attributes:
        report: What `serenity analyze --json` wrote.
        failure: Or else why it did not.
        seconds: Wall time.
        data: Files of weights that were read, relative to the model's folder, with their sha256.
    """

    report: bytes | None
    failure: Failure | None
    seconds: float
    data: dict[str, str]


def sha256(path: Path) -> str:
    """The digest of a file.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run_task(task: Task, folder: str) -> Outcome:
    """Analyze a model; relative paths start at `folder`. May run on another machine that has the files."""
    began = perf_counter()
    with scratch_folder() as scratch:
        report = scratch / _REPORT
        options = ["--json", str(report), "--target", task.target, *task.options.own]
        failure = run_captured(["analyze", *options, "--", task.model, *task.options.iree], scratch, folder)
        if failure is not None:
            return Outcome(None, failure, perf_counter() - began, {})
        root = Path(folder, task.model).parent
        files = [Path(folder, path) for path in data_files(scratch)]
        data = {os.path.relpath(path, root): sha256(path) for path in files}
        return Outcome(report.read_bytes(), None, perf_counter() - began, data)
