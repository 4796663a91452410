"""Flags that IREE knows only for a whole process, looked at before LLVM's parser may end it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.dropin.stock import stock_compiler
from serenity_mlir.pipelines.iree_api import set_global_flags

_SPEAKER = "iree-compile: "


def set_checked_global_flags(flags: Sequence[str]) -> None:
    """Set process-wide flags.

    Raises:
        UsageError: IREE does not take one of them, in its words.
    """
    if not flags:
        return
    # The compiler itself says what it does not take, and does nothing else.
    command = [stock_compiler(), *flags, "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (IREE's own)
    complaints = [
        line.removeprefix(_SPEAKER) for line in said.stderr.splitlines() if line.startswith(_SPEAKER)
    ]
    if complaints:
        raise UsageError(complaints[0].split("  Try:")[0], hint=" ".join(complaints[1:]) or None)
    set_global_flags(flags)
