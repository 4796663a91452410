"""Notes of a worker process for the process that contains it.

If the worker dies in native code, they say what it was doing, to which file, and which
half-written files are to be removed. Outside a contained command they go nowhere.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

VARIABLE = "SERENITY_SCRATCH"
"""Environment variable with the folder that both processes share."""

STACK = "stack.txt"
"""Where in that folder the Python stack goes when a signal ends the worker."""

_STAGE, _INPUT, _STDIN, _FAULT, _TRACEBACK = "stage", "input", "stdin.mlir", "fault", "traceback.txt"
_TEMPORARIES, _ENDED, _DATA = "temporaries", "ended", "data"

KEPT = (STACK, _STDIN, _TRACEBACK)
"""What a reproducer takes from that folder."""

# How often to try again to remove the folder, into which a linker that outlives the worker may write.
_ATTEMPTS = 20
_PAUSE = 0.05


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
    _append(_TEMPORARIES, path)


def note_data(path: Path) -> None:
    """A file of weights that the worker is about to read."""
    _append(_DATA, path)


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


def forget_end(folder: Path) -> None:
    """Make the notes ready for another worker: how the last one ended is known."""
    for name in (_ENDED, _FAULT, _TRACEBACK):
        (folder / name).unlink(missing_ok=True)


def remove_temporaries(folder: Path) -> None:
    """Remove what the worker left half-written."""
    for path in _listed(folder, _TEMPORARIES):
        path.unlink(missing_ok=True)


def data_files(folder: Path) -> list[Path]:
    """Files of weights that the worker read, sorted."""
    return sorted(set(_listed(folder, _DATA)))


def remove_folder(folder: Path) -> None:
    """Remove the folder itself."""
    for _ in range(_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_PAUSE)


def _note(name: str, data: bytes) -> None:
    folder = os.environ.get(VARIABLE)
    if folder:
        Path(folder, name).write_bytes(data)


def _read(folder: Path, name: str) -> bytes:
    path = folder / name
    return path.read_bytes() if path.exists() else b""


def _append(name: str, path: Path) -> None:
    folder = os.environ.get(VARIABLE)
    if folder:
        with Path(folder, name).open("ab") as notes:
            notes.write(os.fsencode(path) + b"\0")


def _listed(folder: Path, name: str) -> list[Path]:
    return [Path(os.fsdecode(path)) for path in _read(folder, name).split(b"\0") if path]
