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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from serenity_mlir.errors import EXIT_ERROR, EXIT_INTERRUPTED
from serenity_mlir.pipelines.attempts import without_attempt
from serenity_mlir.pipelines.cli.ending import ending
from serenity_mlir.pipelines.cli.group import leads_group
from serenity_mlir.pipelines.scratch import KEPT, VARIABLE, last_input, remove_folder, remove_temporaries

_WORKER = "serenity_mlir.pipelines.cli.worker"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LARGEST_COPY = 64 << 20


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
    """Run `module.main(arguments)` in a worker; returns its exit status, 1 if it crashed."""
    worker = _Worker()
    with worker.ended_with_us():
        try:
            scratch = Path(tempfile.mkdtemp(prefix="serenity-"))
        except OSError as error:
            return _say(f"no temporary folder can be made: {error.strerror}", "TMPDIR names another place")
        try:
            # -P: a file in the working directory must not stand in for a package.
            command = [sys.executable, "-P", "-m", _WORKER, module, *arguments]
            # What native code leaves among temporary files is removed with the scratch folder.
            environment = {**os.environ, VARIABLE: str(scratch), "TMPDIR": str(scratch)}
            while True:
                status = worker.run(command, environment)
                if status < 0:
                    remove_temporaries(scratch)
                if worker.interrupted or status == -signal.SIGINT:
                    return EXIT_INTERRUPTED
                what = without_attempt(status, scratch)
                if what is None:
                    return _conclude(status, scratch, command)
                file = last_input(scratch)
                sys.stderr.write(f"note: {file}: {what}; once more without the rewrites that led there\n")
        except OSError as error:
            return _say(f"the compiler's process cannot be started: {error.strerror}", "free some memory")
        finally:
            remove_folder(scratch)


@dataclass
class _Worker:
    """The process that works for us.

    Attributes:
        process: Once it is started.
        interrupted: Whether it was asked to end.
        leads: Whether it was, at that time, the leader of a group of processes.
    """

    process: subprocess.Popen[bytes] | None = None
    interrupted: bool = False
    leads: bool = False

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Start it, wait for it; returns its exit status, negative if a signal ended it."""
        # Held back until it can be ended, and in the worker until it is ready to end.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            if self.interrupted:
                return -signal.SIGINT
            self.process = subprocess.Popen(command, env=environment)  # noqa: S603  (ourselves)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        status = self.process.wait()
        if self.leads:  # nothing that it started may outlive it
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        return status

    @contextmanager
    def ended_with_us(self) -> Iterator[None]:
        """Signals that ask us to end kill the worker instead, and come too late once it has ended.

        A worker that leads a group of its own is asked to end first, and killed the second time.
        """
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._kill)
        try:
            yield
        finally:
            for number in _ENDING:
                signal.signal(number, signal.SIG_IGN)

    def _kill(self, _number: int, _frame: FrameType | None) -> None:
        impatient, self.interrupted = self.interrupted, True
        if self.process is None:
            return
        self.leads = self.leads or leads_group(self.process.pid)
        if self.leads and not impatient:
            self.process.terminate()  # it ends what it started, in order
        else:
            self.process.kill()


def _conclude(status: int, scratch: Path, command: Sequence[str]) -> int:
    """Say what happened where the worker could not; returns our exit status."""
    if status == -signal.SIGPIPE:  # a reader such as `head` has seen enough
        return EXIT_ERROR
    found = ending(status, scratch)
    if found is None:
        return status
    place = f"{found.file}: " if found.file else ""
    if not found.crash:
        return _say(f"{place}{found.what}", found.hint, status)
    kept = _keep_reproducer(command, scratch, found.what)
    return _say(f"{place}{found.what}", f"{kept}; {found.hint}")


def _say(what: str, hint: str, status: int = EXIT_ERROR) -> int:
    sys.stderr.write(f"error: {what}\n  hint: {hint}\n")
    return status


def _keep_reproducer(command: Sequence[str], scratch: Path, what: str) -> str:
    """Keep what shows the crash again; returns words that say where."""
    try:
        kept = Path(tempfile.mkdtemp(prefix="serenity-crash-"))
        text = f"cd {shlex.quote(os.getcwd())}\n{shlex.join(command)}\n# {what}\n"
        (kept / "command.sh").write_bytes(os.fsencode(text))
        for path in (Path(last_input(scratch)), *(scratch / name for name in KEPT)):
            if path.is_file() and 0 < path.stat().st_size < _LARGEST_COPY:
                shutil.copyfile(path, kept / path.name)
    except OSError as error:
        return f"what shows it again cannot be kept: {error.strerror}"
    return f"what shows it again is in {kept}"
