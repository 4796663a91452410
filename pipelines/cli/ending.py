"""How a worker process ended, where it could not say it itself."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from serenity_mlir.pipelines.scratch import ended, fault, last_input, last_stage


@dataclass(frozen=True, slots=True)
class Ending:
    """What is to be said of it.

    Attributes:
        what: What happened, and during which stage.
        file: The file that it read, empty if it came to none.
        hint: A way out.
        crash: Whether nobody has said anything yet; otherwise IREE has, on stderr.
    """

    what: str
    file: str
    hint: str
    crash: bool


def ending(status: int, scratch: Path) -> Ending | None:
    """How a worker with that exit status and those notes ended; None where it said so itself."""
    stage, file = last_stage(scratch), last_input(scratch)
    during = f" during '{stage}'" if stage else ""
    found = fault(scratch)
    if status < 0:
        return Ending(f"the compiler {_death(-status)}{during}", file, "please report it", crash=True)
    if found:
        what = f"this is a fault of serenity{during}: {found}"
        return Ending(what, file, "please report it; --debug shows the traceback", crash=True)
    if status > 0 and not ended(scratch):
        return Ending(
            f"IREE gave up{during} with exit status {status}", file, "see its own words", crash=False
        )
    return None


def _death(number: int) -> str:
    if number == signal.SIGKILL:
        return "was killed (SIGKILL; memory may have run out)"
    try:
        return f"crashed ({signal.Signals(number).name})"
    except ValueError:
        return f"crashed (signal {number})"
