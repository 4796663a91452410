"""Notes of a worker process for the process that contains it.

If the worker dies in native code, they say what it was doing, to which file, and which
half-written files are to be removed. Outside a contained command they go nowhere.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "SERENITY_SCRATCH"
"""Environment variable with the folder that both processes share."""

STACK = "stack.txt"
"""Where in that folder the Python stack goes when a signal ends the worker."""

_STAGE, _INPUT, _STDIN, _FAULT, _TRACEBACK = "stage", "input", "stdin.mlir", "fault", "traceback.txt"
_TEMPORARIES, _ENDED = "temporaries", "ended"

KEPT = (STACK, _STDIN, _TRACEBACK)
"""What a reproducer takes from that folder."""


def note_stage(stage: str) -> None:
    """What the worker is about to do."""
    _note(_STAGE, stage.encode())


def note_input(path: Path) -> None:
    """The file that the worker is about to read."""
    _note(_INPUT, os.fsencode(path))


def read_input(file: str) -> bytes:
    """Read a file, or stdin where it is `-`, which nobody could read again: it is kept in the notes."""
    if file != "-":
        note_input(Path(file))
        return Path(file).read_bytes()
    data = sys.stdin.buffer.read()
    _note(_INPUT, b"<stdin>")
    _note(_STDIN, data)
    return data


def note_temporary(path: Path) -> None:
    """A file to remove if the worker dies."""
    folder = os.environ.get(VARIABLE)
    if folder:
        with Path(folder, _TEMPORARIES).open("ab") as notes:
            notes.write(os.fsencode(path) + b"\0")


def note_fault(what: str, trace: str) -> None:
    """An exception that nobody expected, and its traceback."""
    _note(_FAULT, what.encode(errors="backslashreplace"))
    _note(_TRACEBACK, trace.encode(errors="backslashreplace"))


def note_end() -> None:
    """The worker ends in order from here on: its exit status is its own."""
    _note(_ENDED, b"")


def last_stage(folder: Path) -> str:
    """What the worker said last, empty if nothing."""
    return _read(folder, _STAGE).decode()


def last_input(folder: Path) -> str:
    """The file that the worker read, empty if it came to none."""
    return os.fsdecode(_read(folder, _INPUT))


def fault(folder: Path) -> str:
    """The unexpected exception that ended the worker, empty if none."""
    return _read(folder, _FAULT).decode()


def ended(folder: Path) -> bool:
    """Whether the worker ended in order, not inside native code that called `exit`."""
    return (folder / _ENDED).exists()


def remove_temporaries(folder: Path) -> None:
    """Remove what the worker left half-written."""
    for name in _read(folder, _TEMPORARIES).split(b"\0"):
        if name:
            Path(os.fsdecode(name)).unlink(missing_ok=True)


def _note(name: str, data: bytes) -> None:
    folder = os.environ.get(VARIABLE)
    if folder:
        Path(folder, name).write_bytes(data)


def _read(folder: Path, name: str) -> bytes:
    path = folder / name
    return path.read_bytes() if path.exists() else b""
