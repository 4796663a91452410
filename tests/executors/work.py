"""Work for executors, where processes that they spawn can import it."""

from __future__ import annotations

import os
import time
from pathlib import Path


def square(number: int) -> int:
    """Even numbers work."""
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number * number


def mortal(number: int) -> int:
    """The numbers 3 and 4 kill the process that they are worked on in."""
    if number in (3, 4):
        os._exit(9)
    return number


def slow(folder: str) -> None:
    """Leaves its process's id behind, works for long, and says so if it comes to an end."""
    note = Path(folder, str(os.getpid()))
    note.touch()
    time.sleep(20)
    note.with_suffix(".ended").touch()
