"""What SSA values of the `hal` IR stand for while it is walked."""

from __future__ import annotations

from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir


@dataclass(eq=False)
class Storage:
    """One allocation, argument or constant.

    Attributes:
        kind: "allocation", "input" or "constant".
        size: Bytes; None for an input until it is asserted.
        index: Which argument of the entry.
        constant: The op that holds the bytes of a constant.
        first: The position among the entry's commands where an allocation is made.
        last: The one where it is freed; None while nobody frees it.
    """

    kind: str
    size: int | None
    index: int = 0
    constant: ir.Operation | None = None
    first: int = 0
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Bytes:
    """`length` bytes of a storage from `offset` on."""

    storage: Storage
    offset: int
    length: int | None


@dataclass(frozen=True, slots=True)
class View:
    """A buffer view: bytes with a shape and an element type, as MLIR spells it."""

    bytes: Bytes
    shape: tuple[int, ...]
    element: str


@dataclass(eq=False)
class Argument:
    """A buffer view that the caller hands in; what it is asserted to be is noted."""

    storage: Storage
    shape: tuple[int, ...] | None = None
    element: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A constant as a file."""

    op: ir.Operation


@dataclass(frozen=True, slots=True)
class Function:
    """A looked-up export."""

    name: str


@dataclass(frozen=True, slots=True)
class Token:
    """Something without bytes: a device, a fence, an executable, an allocator."""

    what: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A memory that a command names: bytes, or a binding slot of its command buffer."""

    base: Bytes | int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class RawFill:
    """A fill, before storage has a place."""

    target: Slot
    pattern: bytes


@dataclass(frozen=True, slots=True)
class RawCopy:
    """A copy, likewise."""

    source: Slot
    target: Slot


@dataclass(frozen=True, slots=True)
class RawDispatch:
    """A dispatch, likewise."""

    export: str
    workgroups: tuple[int, int, int]
    constants: tuple[int, ...]
    bindings: tuple[Slot, ...]


RawCommand = RawFill | RawCopy | RawDispatch


@dataclass(eq=False)
class CommandBuffer:
    """What was recorded, in order."""

    commands: list[RawCommand] = field(default_factory=list)


Value = int | bool | Bytes | View | Argument | File | Function | Token | CommandBuffer | ir.Operation | str
