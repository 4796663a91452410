"""Output files that appear complete or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from serenity_mlir.pipelines.scratch import note_temporary


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that replaces `path` when the `with` ends without an exception.

    A link is followed, so what it points at is replaced; the mode of an existing file is kept.
    Devices and pipes cannot be replaced: they are written to directly.

    Raises:
        OSError: Writing fails, when the `with` ends at the latest; `path` is as it was before.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | (0o666 & ~_umask())
    if not stat.S_ISREG(mode):
        with target.open("wb") as direct:
            yield direct
        return
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    note_temporary(Path(name))
    try:
        with os.fdopen(handle, "wb") as temporary:
            yield temporary
        Path(name).chmod(stat.S_IMODE(mode))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
