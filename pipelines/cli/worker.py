"""The worker process: `worker.py MODULE ARGUMENTS…` runs `MODULE.main(ARGUMENTS)`.

It tells the process that contains it apart how it ended: in order, by a fault of ours, or
(where it cannot say any more) inside native code.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from serenity_mlir import console
from serenity_mlir.errors import EXIT_ERROR, SerenityError
from serenity_mlir.pipelines.scratch import STACK, VARIABLE, note_end, note_fault


def main() -> int:
    """Run the command line that this process was started for; returns its exit status."""
    module, *arguments = sys.argv[1:]
    _end_at_once_when_interrupted()
    with ExitStack() as open_files:
        folder = os.environ.get(VARIABLE)
        if folder:
            faulthandler.enable(open_files.enter_context(Path(folder, STACK).open("w")))
        return run(module, arguments)


def run(module: str, arguments: Sequence[str]) -> int:
    """Run `module.main(arguments)`; what it does not catch becomes a message or a note."""
    try:
        status: int = import_module(module).main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # a reader such as `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = EXIT_ERROR
    except (MemoryError, OSError) as error:
        console.print_error(described(error))
        status = EXIT_ERROR
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        note_fault(f"{type(error).__name__}: {error}", traceback.format_exc())
        status = EXIT_ERROR
    finally:  # native code that calls `exit` never gets here
        note_end()
    return status


def described(error: MemoryError | OSError) -> SerenityError:
    """What the machine denied us, as an error that users can act on."""
    if isinstance(error, MemoryError):
        return SerenityError("memory ran out", hint="use a smaller model, or a machine with more")
    return SerenityError(error.strerror or str(error), file=_name(error.filename))


def _name(filename: str | bytes | int | None) -> str:
    return "<unknown>" if filename is None or isinstance(filename, int) else os.fsdecode(filename)


def _end_at_once_when_interrupted() -> None:
    """Native code would not notice an interrupt; what is to be cleaned up is the parent's."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


if __name__ == "__main__":
    sys.exit(main())
