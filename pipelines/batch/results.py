"""The folder of results: one file a task, written whole, and known again when its inputs are the same."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from serenity_mlir import __version__
from serenity_mlir.pipelines.atomic_file import atomic_write
from serenity_mlir.pipelines.batch.task import Options, Outcome, Task, sha256
from serenity_mlir.pipelines.iree_version import iree_version
from serenity_mlir.report import Report


class Inputs(msgspec.Struct, frozen=True):
    """All that a result depends on.

    Attributes:
        sha256: Of the model's file; None if it cannot be read.
        data: Of the files of weights beside it, by their paths from its folder.
        target: Where it will run.
        options: How it is analyzed.
        version: Ours.
        iree_version: IREE's.
    """

    sha256: str | None
    data: dict[str, str | None]
    target: str
    options: Options
    version: str
    iree_version: str


class _Result(Report, frozen=True, kw_only=True):
    """A report as it lies in the folder: with the inputs that it was made from."""

    inputs: Inputs


class Results:
    """The results of some tasks in a folder.

    Args:
        folder: Where they are; it is there already.
        tasks: All of them: their files get names that differ.
    """

    def __init__(self, folder: Path, tasks: Sequence[Task]) -> None:
        self.folder = folder
        self._names = dict(zip(tasks, _names(tasks), strict=True))

    def name(self, task: Task) -> str:
        """What the files of a task are called, without suffix."""
        return self._names[task]

    def report(self, task: Task) -> Report | None:
        """The report that is there already; None if there is none, or one of other inputs."""
        try:
            found = msgspec.json.decode(self._report(task).read_bytes(), type=_Result)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        folder = Path(task.model).parent
        data = {name: _sha256(folder / name) for name in found.inputs.data}
        return found if found.inputs == _inputs(task, _sha256(Path(task.model)), data) else None

    def keep(self, task: Task, outcome: Outcome) -> Report | None:
        """Write what came of a task; returns its report, None where it failed.

        Raises:
            OSError: It cannot be written.
        """
        report, failure = self._report(task), self.folder / f"{self.name(task)}.error.json"
        if outcome.report is None:
            _write(failure, {"task": task, "error": outcome.failure, "seconds": outcome.seconds})
            report.unlink(missing_ok=True)  # of other inputs
            return None
        made = msgspec.json.decode(outcome.report, type=Report)
        inputs = _inputs(task, made.model.sha256, outcome.data)
        _write(report, {**msgspec.json.decode(outcome.report), "inputs": inputs})
        failure.unlink(missing_ok=True)
        return made

    def summarize(self, rows: Iterable[object]) -> None:
        """Write `summary.json`.

        Raises:
            OSError: It cannot be written.
        """
        _write(self.folder / "summary.json", list(rows))

    def _report(self, task: Task) -> Path:
        return self.folder / f"{self.name(task)}.json"


def _names(tasks: Sequence[Task]) -> list[str]:
    """The model's file and the target; where that is not enough, a digest of what else there is."""
    short = [f"{os.path.basename(task.model)}.{task.target}" for task in tasks]
    count = Counter(name.casefold() for name in short)
    return [
        name if count[name.casefold()] == 1 else f"{name}.{_digest(task)}"
        for name, task in zip(short, tasks, strict=True)
    ]


def _digest(task: Task) -> str:
    return hashlib.sha256(msgspec.json.encode(task)).hexdigest()[:12]


def _inputs(task: Task, digest: str | None, data: Mapping[str, str | None]) -> Inputs:
    return Inputs(digest, dict(data), task.target, task.options, __version__, iree_version())


def _sha256(path: Path) -> str | None:
    try:
        return sha256(path)
    except OSError:
        return None  # the task itself says why


def _write(path: Path, content: Any) -> None:
    with atomic_write(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
