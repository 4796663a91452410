"""What a firmware library does at each call: spans of memory, and commands on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["arena", "weights", "input", "output"]


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of one memory: the arena, a constant, or an input or output that the caller owns.

    Attributes:
        kind: Which memory.
        index: Which constant, input or output; 0 for the arena.
        offset: Of the first byte.
        length: In bytes.
    """

    kind: Kind
    index: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Fill:
    """Repeat `pattern` over `target`, whose length is a multiple of the pattern's."""

    target: Span
    pattern: bytes


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy between spans of one length, which do not overlap."""

    source: Span
    target: Span


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Run an exported function of the object over a grid of workgroups.

    Attributes:
        export: Its name.
        workgroups: Counts along x, y and z.
        constants: 32-bit words, as unsigned integers.
        bindings: Memory that it reads and writes, in the order that it knows.
    """

    export: str
    workgroups: tuple[int, int, int]
    constants: tuple[int, ...]
    bindings: tuple[Span, ...]


Command = Fill | Copy | Dispatch


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output of an entry.

    Attributes:
        name: As the model calls it.
        shape: Elements a dimension, row-major.
        dtype: NumPy's name of the element type.
        span: Where it is.
        scale: Of its quantisation, if the model has one: real = scale · (stored - zero point).
        zero_point: Likewise.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    span: Span
    scale: float | None = None
    zero_point: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An exported function of the model."""

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class FirmwareProgram:
    """Everything that the C source is written from.

    Attributes:
        entries: In the order of the model.
        weights: Constants, each aligned to `alignment`.
        arena_bytes: Of the one arena that all entries share.
        alignment: Of the arena and of every tensor, bytes.
    """

    entries: tuple[Entry, ...]
    weights: tuple[bytes, ...]
    arena_bytes: int
    alignment: int

    @property
    def exports(self) -> set[str]:
        """Functions of the object that some entry calls."""
        commands = (command for entry in self.entries for command in entry.commands)
        return {command.export for command in commands if isinstance(command, Dispatch)}
