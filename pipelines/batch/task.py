"""One model for one target, analyzed in a process of its own, whose crash is an outcome like any other.

Flags of IREE hold for a whole process, and native code may take its process down: so no two tasks share one.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import msgspec

from serenity_mlir.errors import EXIT_ERROR, SerenityError
from serenity_mlir.executors.lifeline import end_with_stdin
from serenity_mlir.pipelines.attempts import without_attempt
from serenity_mlir.pipelines.cli.ending import ending
from serenity_mlir.pipelines.scratch import KEPT, VARIABLE, data_files, remove_folder

_WORKER = "serenity_mlir.pipelines.cli.worker"
_REPORT, _FAILURE, _OUTPUT = "report.json", "failure.json", "output.txt"
_LAST = 4000
"""Characters of stack and output that a failure keeps, from the end."""


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


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why there is no report; `details` are the stack and what IREE said, where that is all there is."""

    message: str
    file: str | None = None
    where: str | None = None
    hint: str | None = None
    details: str = ""


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


def failure_of(error: SerenityError) -> Failure:
    """An error that users see, as a record."""
    return Failure(error.message, error.file, error.where, error.hint)


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
    scratch = Path(tempfile.mkdtemp(prefix="serenity-"))
    try:
        status = _run(task, folder, scratch)
        while without_attempt(status, scratch) is not None:
            status = _run(task, folder, scratch)
        report = scratch / _REPORT
        if status == 0:
            root = Path(folder, task.model).parent
            data = {os.path.relpath(path, root): sha256(path) for path in _data(folder, scratch)}
            return Outcome(report.read_bytes(), None, perf_counter() - began, data)
        return Outcome(None, _failure(status, scratch), perf_counter() - began, {})
    finally:
        remove_folder(scratch)


def _run(task: Task, folder: str, scratch: Path) -> int:
    """The exit status, negative if a signal ended it. It ends with us: we hold its stdin."""
    # -P: a file in the working directory must not stand in for a package.
    python = [sys.executable, "-P", "-m", _WORKER, __name__, str(scratch)]
    options = ["--target", task.target, *task.options.own, "--", task.model, *task.options.iree]
    environment = {**os.environ, VARIABLE: str(scratch), "TMPDIR": str(scratch)}
    with (
        (scratch / _OUTPUT).open("wb") as output,
        subprocess.Popen(  # noqa: S603  (ourselves)
            [*python, *options],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            return process.wait()
        except BaseException:
            process.kill()
            raise


def _data(folder: str, scratch: Path) -> list[Path]:
    return [Path(folder, path) for path in data_files(scratch)]


def _failure(status: int, scratch: Path) -> Failure:
    said = scratch / _FAILURE
    if said.exists():
        return msgspec.json.decode(said.read_bytes(), type=Failure)
    texts = [(scratch / name) for name in (*KEPT, _OUTPUT)]
    details = "\n".join(path.read_text(errors="replace")[-_LAST:] for path in texts if path.exists()).strip()
    found = ending(status, scratch)
    if found is None:
        return Failure(f"it ended with exit status {status}", details=details)
    return Failure(found.what, found.file or None, None, found.hint, details)


def main(arguments: list[str]) -> int:
    """In the worker: `SCRATCH` and the arguments of `serenity analyze`."""
    from serenity_mlir.pipelines.cli.main import serenity  # noqa: PLC0415  (it imports this module, late)
    from serenity_mlir.pipelines.cli.worker import described  # noqa: PLC0415

    end_with_stdin()
    scratch, *options = arguments
    command = ["analyze", "--json", os.path.join(scratch, _REPORT), *options]
    try:
        serenity.main(args=command, prog_name="serenity", standalone_mode=False)
    except SerenityError as error:
        found = error
    except (MemoryError, OSError) as error:
        found = described(error)
    else:
        return 0
    Path(scratch, _FAILURE).write_bytes(msgspec.json.encode(failure_of(found)))
    return EXIT_ERROR
