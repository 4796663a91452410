"""Writing what a command makes: all of its files or none of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.pipelines.atomic_file import atomic_write

_STDOUT = Path("-")
_HINT = "check the folder, its rights and the space left"


def check_outputs(paths: Sequence[Path], inputs: Iterable[Path | None] = ()) -> None:
    """Refuse places that nothing should or can be written to, before time is spent on what would go there.

    Args:
        paths: Where outputs go.
        inputs: Files that are read, and so must not be written over.

    Raises:
        UsageError: Two outputs are one file, or an output is an input.
        SerenityError: A folder is missing or not writable, or a folder has the file's name.
    """
    taken = {os.path.realpath(path): "it is an input of the command" for path in inputs if path}
    for path in paths:
        if (real := os.path.realpath(path)) in taken:
            raise UsageError(
                f"cannot be written: {taken[real]}", file=_name(path), hint="give each file its own name"
            )
        taken[real] = "two outputs have one name"
        if path == _STDOUT:
            continue
        if path.is_dir():
            raise _unwritable(path, "it is a folder")
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise _unwritable(path, f"there is no folder '{folder}'")
        if not os.access(path if path.exists() and not path.is_file() else folder, os.W_OK):
            raise _unwritable(path, "permission denied")


def write_outputs(contents: Mapping[Path, bytes]) -> None:
    """Write files whole or not at all, and none of them if one cannot be written; `-` is stdout.

    Raises:
        SerenityError: One cannot be written.
    """
    path = _STDOUT
    try:
        with ExitStack() as files:
            for path, data in contents.items():
                file = _opened(path, files)
                file.write(data)
                file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        failed = Path(os.fsdecode(error.filename2)) if error.filename2 else path
        raise _unwritable(failed, error.strerror or str(error)) from error


def _opened(path: Path, files: ExitStack) -> BinaryIO:
    return sys.stdout.buffer if path == _STDOUT else files.enter_context(atomic_write(path))


def _unwritable(path: Path, why: str) -> SerenityError:
    return SerenityError(f"cannot be written: {why}", file=_name(path), hint=_HINT)


def _name(path: Path) -> str:
    return "standard output" if path == _STDOUT else str(path)
