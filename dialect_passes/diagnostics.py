"""Remarks and warnings of our passes.

The bindings let Python emit errors through MLIR's diagnostic engine, but neither remarks nor
warnings (`Location.emit_remark` belongs to the optimisation remark streams). Drivers collect
both kinds: MLIR's with `attach_diagnostic_handler`, ours with `collecting` below.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

from serenity_mlir.dialect_passes.mlir import ir

_LOGGER = logging.getLogger(__name__)


class Severity(StrEnum):
    """How bad it is, in MLIR's words."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message with what explains it.

    Attributes:
        severity: Its kind.
        message: May span lines.
        place: Where, None where the location names no file.
        notes: Of severity NOTE, in order.
    """

    severity: Severity
    message: str
    place: Place | None = None
    notes: tuple[Diagnostic, ...] = ()


Handler = Callable[[Diagnostic], None]
_HANDLER: ContextVar[Handler | None] = ContextVar("serenity_diagnostic_handler", default=None)


def place_of(location: ir.Location) -> Place | None:
    """The first file position inside `location`, as MLIR's own printer picks it."""
    if isinstance(location, ir.FileLineColLoc):
        return Place(location.filename, location.start_line, location.start_col)
    if isinstance(location, ir.NameLoc):
        return place_of(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return place_of(location.callee)
    if isinstance(location, ir.FusedLoc):
        places = (place_of(part) for part in location.locations)
        return next((place for place in places if place), None)
    return None


def of_mlir(diagnostic: ir.Diagnostic) -> Diagnostic:
    """A diagnostic of MLIR's engine (or one carried by an `MLIRError`) as one of ours."""
    return Diagnostic(
        severity=Severity[diagnostic.severity.name],
        message=diagnostic.message,
        place=place_of(diagnostic.location),
        notes=tuple(of_mlir(note) for note in diagnostic.notes),
    )


def emit(severity: Severity, op: ir.Operation, message: str) -> None:
    """Tell whoever listens; with nobody there it goes to the `logging` of this module."""
    diagnostic = Diagnostic(severity, message, place_of(op.location))
    handler = _HANDLER.get()
    if handler is not None:
        handler(diagnostic)
        return
    level = {Severity.ERROR: logging.ERROR, Severity.WARNING: logging.WARNING}.get(severity, logging.INFO)
    _LOGGER.log(level, "%s: %s", diagnostic.place or "-", message)


def remark(op: ir.Operation, message: str) -> None:
    """Something worth knowing about `op`."""
    emit(Severity.REMARK, op, message)


def warning(op: ir.Operation, message: str) -> None:
    """Something about `op` that is probably not what people want."""
    emit(Severity.WARNING, op, message)


@contextmanager
def collecting(handler: Handler) -> Iterator[None]:
    """Send what passes emit inside the `with` to `handler`."""
    token = _HANDLER.set(handler)
    try:
        yield
    finally:
        _HANDLER.reset(token)
