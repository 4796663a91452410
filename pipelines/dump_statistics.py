"""`--iree-scheduling-dump-statistics-*`: the figures of phase `stream`, in all of iree-compile's formats."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.iree_types import quoted

if TYPE_CHECKING:
    from serenity_mlir.pipelines.iree_api import Program

_TEXTUAL = ("pretty", "verbose", "csv")
# Columns of the pass's CSV, by their place in iree-compile's JSON.
_COLUMNS: Final = {
    "global": {
        "constant-count": "Constants",
        "constant-size": "Constant Size",
        "variable-count": "Variables",
        "variable-size": "Variable Size",
    },
    "synchronization": {"await-count": "Awaits"},
    "execution": {
        "submission-count": "Submissions",
        "transient-memory-size": "Transient Size",
        "fill-count": "Fills",
        "copy-count": "Copies",
        "dispatch-count": "Dispatches",
        "call-count": "Async Calls",
    },
    "executable": {"executable-count": "Executables"},
}


def dump_statistics(program: Program) -> None:
    """Write what the session's flags ask for, if anything, of a program in the stream.cmd dialect.

    The pass writes every format but JSON, which only iree-compile's own pipeline can ask of it.

    Raises:
        SerenityError: The file cannot be written.
    """
    wanted = program.session.flag("iree-scheduling-dump-statistics-format")
    file = program.session.flag("iree-scheduling-dump-statistics-file")
    if wanted in _TEXTUAL:
        _run(program, wanted, file)
    elif wanted == "json":
        with TemporaryDirectory(prefix="serenity-") as folder:
            table = Path(folder, "statistics.csv")
            _run(program, "csv", str(table))
            text = aggregate_json(table.read_text())
        if file in ("", "-"):
            (sys.stdout if file else sys.stderr).write(text)
        else:
            _write(Path(file), text)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise SerenityError(f"cannot be written: {error.strerror}", file=str(path)) from error


def _run(program: Program, style: str, file: str) -> None:
    output = f" output-file={quoted(file)}" if file else ""
    program.run(f"iree-stream-dump-statistics{{output-format={style}{output}}}")


def aggregate_json(table: str) -> str:
    """iree-compile's JSON of the aggregate line in the pass's CSV."""
    lines = [line for line in table.splitlines() if line and not line.startswith(";")]
    row = next(csv.DictReader(lines[:2]))
    sections = {
        name: {key: int(row[column]) for key, column in keys.items()} for name, keys in _COLUMNS.items()
    }
    return json.dumps({"stream-aggregate": sections}, indent=2) + "\n"
