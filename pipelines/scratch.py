"""Notes of a worker process for the process that contains it.

If the worker dies in native code, they say what it was doing and which half-written files
are to be removed. Outside a contained command they go nowhere.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "SERENITY_SCRATCH"
"""Environment variable with the folder that both processes share."""


def note_stage(stage: str) -> None:
    """What the worker is about to do."""
    folder = os.environ.get(VARIABLE)
    if folder:
        Path(folder, "stage").write_text(stage)


def note_temporary(path: Path) -> None:
    """A file to remove if the worker dies."""
    folder = os.environ.get(VARIABLE)
    if folder:
        with Path(folder, "temporaries").open("a") as notes:
            notes.write(f"{path}\n")


def last_stage(folder: Path) -> str:
    """What the worker said last, empty if nothing."""
    stage = folder / "stage"
    return stage.read_text() if stage.exists() else ""


def remove_temporaries(folder: Path) -> None:
    """Remove what the worker left half-written."""
    notes = folder / "temporaries"
    if notes.exists():
        for line in notes.read_text().splitlines():
            Path(line).unlink(missing_ok=True)
