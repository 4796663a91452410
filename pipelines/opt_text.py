"""What `serenity-opt` reads and prints: chunks of input, diagnostics, the list of passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TextIO

from serenity_mlir.dialect_passes.diagnostics import Diagnostic
from serenity_mlir.dialect_passes.option_text import unparse
from serenity_mlir.dialect_passes.registry import PASSES, pass_class

SPLIT_MARKER = "// -----"
BYTECODE = b"ML\xefR"
"""The first bytes of MLIR bytecode."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the input that is processed on its own.

    Attributes:
        source: MLIR text, or bytecode.
        first_line: The line of the input that its first line is, from 1.
    """

    source: str | bytes
    first_line: int = 1

    @property
    def padded(self) -> str | bytes:
        """The source with empty lines in front, so that locations count in the whole input."""
        return self.source if isinstance(self.source, bytes) else "\n" * (self.first_line - 1) + self.source


@dataclass(slots=True)
class Reporter:
    """Prints diagnostics as MLIR does: `file:line:col: error: …`, the line, a caret."""

    log: TextIO
    name: str
    lines: list[str] = field(default_factory=list)

    def show(self, diagnostic: Diagnostic) -> None:
        """Print it with its notes; a note about the same place repeats no line of source."""
        self._print(diagnostic)
        for note in diagnostic.notes:
            self._print(note, with_source=note.place != diagnostic.place)

    def _print(self, diagnostic: Diagnostic, *, with_source: bool = True) -> None:
        place = diagnostic.place
        where = f"{self.file(place.file)}:{place.line}:{place.column}" if place else "<unknown>:0"
        self.log.write(f"{where}: {diagnostic.severity}: {diagnostic.message}\n")
        if with_source and place and self.file(place.file) == self.name and 0 < place.line <= len(self.lines):
            line = self.lines[place.line - 1]
            blank = "".join("\t" if char == "\t" else " " for char in line[: place.column - 1])
            self.log.write(f"{line}\n{blank}^\n")

    def file(self, name: str) -> str:
        """What people call the file that a location names; `-` is what was parsed from memory."""
        return self.name if name == "-" else name


def split_chunks(text: str) -> list[Chunk]:
    """The pieces of `text` between lines that hold only the split marker."""
    chunks: list[Chunk] = []
    start, lines = 0, text.split("\n")
    for number, line in enumerate([*lines, SPLIT_MARKER]):
        if line.rstrip() == SPLIT_MARKER:
            chunks.append(Chunk("\n".join(lines[start:number]), start + 1))
            start = number + 1
    return chunks


def describe_passes() -> str:
    """Our passes by name, each with what it does and its options."""
    out = []
    for name in sorted(PASSES):
        cls = pass_class(name)
        out.append(f"{name}\n    {cls.summary()}\n")
        for option in cls.options():
            kind = f"{option.key}=<{option.kind.__name__}>"
            default = "required" if option.required else f"default {_default(option.default)}"
            out.append(f"    {kind:<28} {option.help} ({default})\n")
    return "".join(out)


def _default(value: object) -> str:
    return "none" if value is None else unparse(value) if isinstance(value, bool) else str(value)
