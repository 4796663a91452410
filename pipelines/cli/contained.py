"""Entry points: run a command line in a worker process, so that a crash ends in a message.

Native code aborts on odd input. The worker is the same command line in a process of its
own; if a signal ends it, what is needed to see the crash again is kept, and the exit
status is 1. Imports nothing heavy: this process only waits.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from serenity_mlir.pipelines.scratch import VARIABLE, last_stage, remove_temporaries

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130
# Seconds that an interrupted worker has to end by itself before it is killed.
_GRACE = 2.0
_LARGEST_COPY = 64 << 20
_MODELS = (".onnx", ".mlir", ".mlirbc")


def serenity() -> int:
    """The `serenity` command."""
    return contain("serenity_mlir.pipelines.cli.main", sys.argv[1:])


def serenity_opt() -> int:
    """The `serenity-opt` command."""
    return contain("serenity_mlir.pipelines.opt", sys.argv[1:])


def serenity_iree_compile() -> int:
    """The `serenity-iree-compile` command."""
    return contain("serenity_mlir.pipelines.iree_compile", sys.argv[1:])


def contain(module: str, arguments: Sequence[str]) -> int:
    """Run `python -m module arguments…`; returns its exit status, 1 if a signal ended it."""
    scratch = Path(tempfile.mkdtemp(prefix="serenity-"))
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, VARIABLE: str(scratch)}
    try:
        worker = subprocess.Popen(command, env=environment)  # noqa: S603  (ourselves)
        status = _wait(worker)
        if status >= 0:
            return status
        remove_temporaries(scratch)
        if -status == signal.SIGINT:
            return EXIT_INTERRUPTED
        stage = last_stage(scratch)
        during = f" during '{stage}'" if stage else ""
        kept = _keep_reproducer(module, arguments, f"{_signal_name(-status)}{during}")
        sys.stderr.write(
            f"error: {_place(arguments)}the compiler crashed{during} ({_signal_name(-status)})\n"
            f"  hint: what is needed to see it again is in {kept}; please report it\n"
        )
        return EXIT_ERROR
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _wait(worker: subprocess.Popen[bytes]) -> int:
    """Wait for the worker, and end it with us: native code does not notice an interrupt."""

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupted)
    try:
        return worker.wait()
    except KeyboardInterrupt:
        try:
            worker.send_signal(signal.SIGINT)
            status = worker.wait(timeout=_GRACE)
            return EXIT_INTERRUPTED if status == EXIT_INTERRUPTED else -signal.SIGINT
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
            return -signal.SIGINT
    finally:
        signal.signal(signal.SIGTERM, previous)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _place(arguments: Sequence[str]) -> str:
    model = next((item for item in arguments if Path(item).suffix in _MODELS), None)
    return f"{model}: " if model else ""


def _keep_reproducer(module: str, arguments: Sequence[str], what: str) -> Path:
    kept = Path(tempfile.mkdtemp(prefix="serenity-crash-"))
    command = shlex.join([sys.executable, "-m", module, *arguments])
    (kept / "command.txt").write_text(f"{command}\n{what}\n")
    for argument in arguments:
        path = Path(argument)
        if path.suffix in _MODELS and path.is_file() and path.stat().st_size < _LARGEST_COPY:
            shutil.copy(path, kept)
    return kept
