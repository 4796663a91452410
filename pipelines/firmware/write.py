"""A library's folder on disk: there as a whole, or as it was."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.firmware.metadata import FILE, FORMAT


class _Marked(msgspec.Struct):
    format: str


def check_folder(path: Path) -> None:
    """Refuse a place that a library cannot go to, before time is spent on it.

    Raises:
        SerenityError: It is a file or in one, nobody may write there, or it holds something else than a
            library.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise _unwritable(path, "it is no folder")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise _unwritable(path, f"'{above}' is no folder")
    if not os.access(above, os.W_OK):
        raise _unwritable(path, "permission denied")
    if path.is_dir() and any(path.iterdir()) and not _is_ours(path):
        raise _unwritable(path, "the folder holds something else than a firmware library")


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a library, in place of an earlier one if there is one, whole or not at all.

    Raises:
        SerenityError: It cannot be written.
    """
    check_folder(path)
    final = path.absolute()
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))
        try:
            for name, data in files.items():
                file = made / "new" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            if final.exists():
                final.rename(made / "old")
            (made / "new").rename(final)
        finally:
            if not final.exists() and (made / "old").exists():
                (made / "old").rename(final)
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def _is_ours(path: Path) -> bool:
    try:
        return msgspec.json.decode((path / FILE).read_bytes(), type=_Marked).format == FORMAT
    except (OSError, msgspec.DecodeError):
        return False


def _unwritable(path: Path, why: str) -> SerenityError:
    return SerenityError(f"cannot be written: {why}", file=str(path), hint="name a new folder")
