"""The real iree-compile: where it is, what it takes, and how to become it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from serenity_mlir.pipelines.scratch import note_end

_TOOL_PATH = "IREE_TOOL_PATH"
# `--name=<value>` and `-o <value>` need a value, `--name[=<value>]` and `--name` do not.
_NEEDS_VALUE = re.compile(r"^  --?([^\s=\[]+)[= ]<", re.MULTILINE)


def stock_compiler() -> str:
    """The path of iree-compile in the package whose library we load.

    `IREE_TOOL_PATH` is not asked: whoever uses it to put us in iree-compile's place would be
    answered with ourselves.
    """
    from iree.compiler.tools.binaries import find_tool  # noqa: PLC0415  (loads IREE)

    saved = os.environ.pop(_TOOL_PATH, None)
    try:
        return str(find_tool("iree-compile"))
    finally:
        if saved is not None:
            os.environ[_TOOL_PATH] = saved


def become_stock(arguments: Sequence[str]) -> NoReturn:
    """Turn this process into iree-compile with these arguments."""
    tool = stock_compiler()
    sys.stdout.flush()
    sys.stderr.flush()
    note_end()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and what it becomes would too
    os.execv(tool, [tool, *arguments])  # noqa: S606  (no shell is wanted)


def flags_with_values() -> frozenset[str]:
    """The names, without dashes, of iree-compile's flags that need a value."""
    command = [stock_compiler(), "--help-hidden"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return frozenset(_NEEDS_VALUE.findall(text))
