"""Groups of processes: a worker that starts others leads one, so that none of them is left behind."""

from __future__ import annotations

import os
import signal
from types import FrameType

from serenity_mlir.pipelines.scratch import VARIABLE


def lead_group() -> None:
    """Make this worker the leader of a group of its own, which is interrupted through `KeyboardInterrupt`.

    Does nothing outside a contained command: what started us sees to interrupts then.
    """
    if VARIABLE not in os.environ:
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # the terminal shows what groups in the background write
    os.setpgid(0, 0)


def leads_group(pid: int) -> bool:
    """Whether a child process leads a group of its own."""
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
