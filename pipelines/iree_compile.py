"""`serenity-iree-compile`: takes iree-compile's command line, and its place in a build.

Whatever leads through phase `stream` is compiled in process, with our order and our arena; all
other command lines become iree-compile itself, unchanged. `--serenity-disable` is that always.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from serenity_mlir import console
from serenity_mlir.errors import EXIT_INTERRUPTED, SerenityError
from serenity_mlir.pipelines.dropin.command_line import (
    asks_for_help,
    driver_options,
    expand_response_files,
    is_onnx,
    passes_stream,
)
from serenity_mlir.pipelines.dropin.flags import help_text, split_serenity_flags
from serenity_mlir.pipelines.dropin.stock import become_stock, flags_with_values


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status, unless this process becomes iree-compile."""
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
    except SerenityError as error:
        console.print_error(error)
        return error.exit_status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


def _run(arguments: Sequence[str]) -> None:
    flags, rest = split_serenity_flags(expand_response_files(arguments))
    if asks_for_help(rest):
        sys.stdout.write(help_text())
        become_stock(rest)
    options = driver_options(rest, flags_with_values)
    if options is None or not (is_onnx(options.input) or (passes_stream(options) and not flags.disable)):
        if flags.wants_figures:
            console.print_note("there are no figures: iree-compile has this command line to itself")
        become_stock(rest)
    from serenity_mlir.pipelines.dropin.run import compile_input  # noqa: PLC0415  (heavy)

    compile_input(options, flags)


if __name__ == "__main__":
    sys.exit(main())
