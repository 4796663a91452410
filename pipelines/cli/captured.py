"""A command line of `serenity` in a worker process, whose crash is an outcome like any other.

For what runs commands and is none itself: many models, and callers from Python. Flags of IREE hold for a
whole process, and native code may take its process down: so no two command lines share one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from serenity_mlir.errors import (
    EXIT_ERROR,
    EXIT_OVER_BUDGET,
    EXIT_USAGE,
    BudgetExceeded,
    SerenityError,
    UsageError,
)
from serenity_mlir.executors.lifeline import end_with_stdin
from serenity_mlir.pipelines.attempts import without_attempt
from serenity_mlir.pipelines.cli.ending import ending
from serenity_mlir.pipelines.scratch import KEPT, VARIABLE, remove_folder, remove_temporaries

_WORKER = "serenity_mlir.pipelines.cli.worker"
_FAILURE, _OUTPUT = "failure.json", "output.txt"
_LAST = 4000
"""Characters of stack and output that a failure keeps, from the end."""

_TYPES = {EXIT_USAGE: UsageError, EXIT_OVER_BUDGET: BudgetExceeded}


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why there is no result; `details` are the stack and what IREE said, where that is all there is."""

    message: str
    file: str | None = None
    where: str | None = None
    hint: str | None = None
    details: str = ""
    status: int = EXIT_ERROR

    def error(self) -> SerenityError:
        """The error that the command ended with."""
        kind = _TYPES.get(self.status, SerenityError)
        message = f"{self.message}\n{self.details}" if self.details else self.message
        return kind(message, file=self.file, where=self.where, hint=self.hint)


def failure_of(error: SerenityError) -> Failure:
    """An error that users see, as a record."""
    return Failure(error.message, error.file, error.where, error.hint, status=error.exit_status)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for a worker's notes, for its temporary files, and for what it makes."""
    folder = Path(tempfile.mkdtemp(prefix="serenity-"))
    try:
        yield folder
    finally:
        remove_folder(folder)


def run_captured(arguments: Sequence[str], scratch: Path, folder: str | None = None) -> Failure | None:
    """Run `serenity ARGUMENTS…`, silently; where a rewrite crashes it, once more without that.

    Args:
        arguments: Of the command line.
        scratch: Of `scratch_folder`; nothing has run in it before.
        folder: Where relative paths start; by default where the caller is.

    Returns:
        Why it failed; None where it did not.
    """
    while status := _run(arguments, scratch, folder):
        remove_temporaries(scratch)
        if without_attempt(status, scratch) is None:
            return _failure(status, scratch)
    return None


def _run(arguments: Sequence[str], scratch: Path, folder: str | None) -> int:
    """The exit status, negative if a signal ended it. It ends with us: we hold its stdin."""
    # -P: a file in the working directory must not stand in for a package.
    command = [sys.executable, "-P", "-m", _WORKER, __name__, str(scratch), *arguments]
    environment = {**os.environ, VARIABLE: str(scratch), "TMPDIR": str(scratch)}
    with (
        (scratch / _OUTPUT).open("wb") as output,
        subprocess.Popen(  # noqa: S603  (ourselves)
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=output
        ) as process,
    ):
        try:
            return process.wait()
        except BaseException:
            process.kill()
            raise


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


def main(arguments: Sequence[str]) -> int:
    """In the worker: `SCRATCH` and the command line."""
    import click  # noqa: PLC0415  (the process that waits needs none of it)

    from serenity_mlir.pipelines.cli.main import serenity  # noqa: PLC0415  (it imports this module, late)
    from serenity_mlir.pipelines.cli.worker import described  # noqa: PLC0415

    end_with_stdin()
    scratch, *command = arguments
    try:
        serenity.main(args=command, prog_name="serenity", standalone_mode=False)
    except SerenityError as error:
        found = error
    except click.ClickException as error:
        found = UsageError(error.format_message(), hint=f"see `serenity {command[0]} --help`")
    except (MemoryError, OSError) as error:
        found = described(error)
    else:
        return 0
    Path(scratch, _FAILURE).write_bytes(msgspec.json.encode(failure_of(found)))
    return found.exit_status
