"""Parsing MLIR where messages are to be collected, not printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.pipelines.iree_types import CompilerError, Diagnostic

if TYPE_CHECKING:
    from serenity_mlir.pipelines.iree_api import Session


def parse_module(session: Session, source: bytes, *, file: str) -> ir.Operation:
    """Parse MLIR text or bytecode.

    Raises:
        CompilerError: It does not parse or verify, with the place that MLIR names.
    """
    path = Path(file)
    try:
        if path.is_file() and not _is_stdin(file):
            module = ir.Module.parseFile(str(path), session.context)
        else:
            module = ir.Module.parse(source, session.context)
    except ir.MLIRError as error:
        found = [Diagnostic("error", f"{item.location}: {item.message}") for item in error.error_diagnostics]
        message = found[0].message if found else str(error)
        place = re.sub(r'^loc\("[^"]*":(\d+):(\d+)\)', r"line \1, column \2", message)
        raise CompilerError(place, found, file=file) from error
    return module.operation


def _is_stdin(file: str) -> bool:
    return file in ("-", "<stdin>")
