"""A process that ends when the one that it works for does, however that one ends."""

from __future__ import annotations

import os
import threading
from multiprocessing.connection import Connection


def end_with(other_end: Connection) -> None:
    """End this process, at once, when the other end of a pipe is closed.

    The system closes it for a process that was killed, too. Nothing may be sent through the pipe.
    """
    threading.Thread(target=_wait, args=(other_end,), daemon=True).start()


def end_with_stdin() -> None:
    """The same, where the other end of the pipe is the standard input of this process."""
    end_with(Connection(os.dup(0), writable=False))


def _wait(other_end: Connection) -> None:
    other_end.poll(None)
    os._exit(1)
