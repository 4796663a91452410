"""Trials in processes that may crash, hang or eat memory: forks of a warm one, and the real command."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MEMORY = 8 << 30
"""Bytes of address space that a trial may have: a model may ask for terabytes."""
SECONDS = 60.0
"""What takes longer counts as a hang."""

_POLL = 0.005
_BROKEN = 70
_COMMAND = "import sys; from serenity_mlir.pipelines.cli.contained import serenity; sys.exit(serenity())"


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        status: Exit status, negative for a signal, None for a hang.
        text: What it wrote to stdout and stderr.
        seconds: Wall time.
    """

    status: int | None
    text: str
    seconds: float


def forked(job: Callable[[], int], folder: Path, seconds: float = SECONDS) -> Ended:
    """Run `job` in a fork of this process; its temporary files and notes go to `folder`."""
    log = folder / "log"
    began = time.perf_counter()
    child = os.fork()
    if not child:
        _be_child(job, folder, log)
    status = _wait(child, began + seconds)
    return Ended(status, log.read_text(errors="replace") if log.exists() else "", time.perf_counter() - began)


def command_line(arguments: list[str], folder: Path) -> Ended:
    """Run `serenity` as users do, with `folder` for temporary files."""
    began = time.perf_counter()
    environment = {**os.environ, "TMPDIR": str(folder)}
    environment.pop("SERENITY_SCRATCH", None)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            preexec_fn=_limit,
            timeout=2 * SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ended(None, "", time.perf_counter() - began)
    return Ended(done.returncode, done.stdout, time.perf_counter() - began)


def _be_child(job: Callable[[], int], folder: Path, log: Path) -> None:
    status = _BROKEN
    try:
        _limit()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.environ["SERENITY_SCRATCH"] = os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        status = job()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _wait(child: int, deadline: float) -> int | None:
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.perf_counter() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(_POLL)
