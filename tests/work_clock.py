"""A clock for time limits that is the same on every machine: it counts lines of Python that run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

LINES_A_SECOND = 4_000_000
"""About what is counted in a second of a machine's time."""


class WorkClock:
    """Seconds by the lines that have run, in place of `time.perf_counter` and `time.monotonic`.

    Attributes:
        lines: How many have run while `going`.
    """

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self) -> float:
        return self.lines / LINES_A_SECOND

    @contextmanager
    def going(self) -> Iterator[None]:
        """Count what runs in functions that are called in here."""

        def count(frame: FrameType, event: str, _argument: Any) -> Any:
            if event == "line":
                self.lines += 1
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            yield
        finally:
            sys.settrace(before)
