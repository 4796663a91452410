"""A place for everything that an entry touches: the arena, constants, memory of the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from serenity_mlir.arena import check_plan, plan
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.place_in_arena import arena_offset
from serenity_mlir.dialect_passes.stream.whole_arena import WholeArena
from serenity_mlir.errors import CheckFailed, SerenityError
from serenity_mlir.liveness import Slice
from serenity_mlir.pipelines.firmware.constant_bytes import constant_bytes
from serenity_mlir.pipelines.firmware.hal_values import (
    Bytes,
    RawCommand,
    RawCopy,
    RawFill,
    Slot,
    Storage,
    View,
)
from serenity_mlir.pipelines.firmware.hal_walk import RawEntry
from serenity_mlir.pipelines.firmware.program import (
    Command,
    Copy,
    Dispatch,
    Entry,
    Fill,
    FirmwareProgram,
    Kind,
    Span,
    Tensor,
)
from serenity_mlir.pipelines.importing.source import SourceModel, TensorIO

# MLIR's element types, and what NumPy calls the same bytes.
_DTYPES = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip
_PLAN_SECONDS = 1.0


def element_bytes(element: str) -> int | None:
    """Bytes of an element of a type, as MLIR spells it, in memory; None where that is not known."""
    width = element.lstrip("uisbf")
    return max(int(width) // 8, 1) if element in _DTYPES and width.isdigit() else None


def place(
    entries: Sequence[RawEntry],
    source: SourceModel,
    *,
    arenas: Mapping[str, WholeArena] | None,
    alignment: int,
) -> FirmwareProgram:
    """Give all storage its place.

    Args:
        entries: What was found in the module.
        source: The model, for names and types of inputs and outputs.
        arenas: The arena of each function, where inputs and outputs lie in it; None where the
            caller owns them.
        alignment: Of everything that a dispatch touches, bytes.

    Raises:
        SerenityError: An output is an input, or two outputs are one, and callers own them.
        CheckFailed: The program allocates what was not planned.
    """
    weights: dict[ir.Operation, tuple[int, bytes]] = {}
    places: list[_InArena | _External] = []
    for entry in entries:
        if arenas is None:
            places.append(_External(entry, alignment, weights))
        else:
            arena = arenas.get(entry.name) or arenas.get(f"{entry.name}$async")
            places.append(_InArena(entry, arena, alignment, weights))
    return FirmwareProgram(
        entries=tuple(_entry(found, source if len(entries) == 1 else None) for found in places),
        weights=tuple(data for _, data in weights.values()),
        arena_bytes=max(found.size for found in places),
        alignment=alignment,
    )


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


@dataclass
class _Places:
    """Where each storage of an entry is: a memory and an offset in it."""

    entry: RawEntry
    alignment: int
    weights: dict[ir.Operation, tuple[int, bytes]]
    of: dict[Storage, tuple[Kind, int, int]] = field(default_factory=dict)
    size: int = 0

    def span(self, base: Bytes, offset: int = 0, length: int | None = None) -> Span:
        """The memory that `base` is, and of it `length` bytes from `offset` on."""
        storage = base.storage
        if storage.constant is not None:
            number, data = self._constant(storage.constant)
            start = base.offset + offset
            known = length if length is not None else base.length
            return Span("weights", number, start, len(data) - start if known is None else known)
        kind, index, at = self.of[storage]
        wanted = length if length is not None else base.length
        if wanted is None:
            raise SerenityError(f"{self.entry.name}: an input of unknown size")
        return Span(kind, index, at + base.offset + offset, wanted)

    def _constant(self, op: ir.Operation) -> tuple[int, bytes]:
        if op not in self.weights:
            self.weights[op] = len(self.weights), constant_bytes(op)
        return self.weights[op]


class _InArena(_Places):
    """Everything in the one arena, at the offsets of its plan."""

    def __init__(
        self,
        entry: RawEntry,
        arena: WholeArena | None,
        alignment: int,
        weights: dict[ir.Operation, tuple[int, bytes]],
    ) -> None:
        super().__init__(entry, alignment, weights)
        self.size = 0 if arena is None else arena.plan.size
        planned = self.size
        for storage in entry.allocations:
            if storage.size != planned:
                raise CheckFailed(f"{entry.name} allocates {storage.size} bytes: the arena has {planned}")
            self.of[storage] = "arena", 0, 0
        for number, argument in enumerate(entry.arguments):
            name = f"input {number}"
            if arena is not None and name in arena.timeline.held:
                self.of[argument.storage] = "arena", 0, arena_offset(arena, [name])
            else:  # nobody reads it, but callers write it
                self.of[argument.storage] = "arena", 0, self.size
                self.size += _aligned(_argument_bytes(entry, number), alignment)


class _External(_Places):
    """Inputs and outputs outside; what is between them packed by when it is allocated and freed."""

    def __init__(
        self, entry: RawEntry, alignment: int, weights: dict[ir.Operation, tuple[int, bytes]]
    ) -> None:
        super().__init__(entry, alignment, weights)
        for number, argument in enumerate(entry.arguments):
            self.of[argument.storage] = "input", number, 0
        for number, result in enumerate(entry.results):
            storage = result.bytes.storage
            if storage in self.of or storage.constant is not None:
                what = "an input, a constant or another output"
                raise SerenityError(
                    f"output {number} of {entry.name} is {what}: it has no memory of its own",
                    hint="--io arena",
                )
            self.of[storage] = "output", number, 0
        own = [storage for storage in entry.allocations if storage not in self.of]
        slices = [self._slice(storage) for storage in own]
        found = plan(slices, alignment=alignment, time_limit=_PLAN_SECONDS)
        check_plan(slices, found.offsets, found.size, alignment=alignment)
        self.of.update((item, ("arena", 0, offset)) for item, offset in zip(own, found.offsets, strict=True))
        self.size = found.size

    def _slice(self, storage: Storage) -> Slice:
        last = len(self.entry.commands) if storage.last is None else storage.last
        size = _aligned(storage.size or 0, self.alignment)
        return Slice(storage.first, max(last, storage.first + 1), size)


def _argument_bytes(entry: RawEntry, number: int) -> int:
    argument = entry.arguments[number]
    if argument.storage.size is not None:
        return argument.storage.size
    width = element_bytes(argument.element)
    if argument.shape is None or width is None:
        raise SerenityError(
            f"input {number} of {entry.name} is never read, and its size is not known",
            hint="leave it out of the model",
        )
    return prod(argument.shape) * width


def _entry(found: _Places, source: SourceModel | None) -> Entry:
    raw = found.entry
    given = [
        View(Bytes(item.storage, 0, _argument_bytes(raw, number)), item.shape or (), item.element)
        for number, item in enumerate(raw.arguments)
    ]
    return Entry(
        name=raw.name,
        inputs=_tensors(found, given, source.inputs if source else (), "input"),
        outputs=_tensors(found, raw.results, source.outputs if source else (), "output"),
        commands=tuple(_command(found, command) for command in raw.commands),
    )


def _tensors(
    found: _Places, views: Sequence[View], declared: Sequence[TensorIO], what: str
) -> tuple[Tensor, ...]:
    out = []
    for number, view in enumerate(views):
        if view.element not in _DTYPES:
            raise SerenityError(f"{what} {number} of {found.entry.name} has elements of type {view.element}")
        known = declared[number] if len(declared) == len(views) else None
        dtype = known.dtype if known is not None else _DTYPES[view.element]
        name = known.name if known is not None else f"{what}{number}"
        out.append(Tensor(name, view.shape, dtype, found.span(view.bytes)))
    return tuple(out)


def _command(found: _Places, command: RawCommand) -> Command:
    def span(slot: Slot) -> Span:
        if isinstance(slot.base, int):
            raise CheckFailed("a command is not bound to memory")
        return found.span(slot.base, slot.offset, slot.length)

    if isinstance(command, RawFill):
        return Fill(span(command.target), command.pattern)
    if isinstance(command, RawCopy):
        return Copy(span(command.source), span(command.target))
    bindings = tuple(span(slot) for slot in command.bindings)
    return Dispatch(command.export, command.workgroups, command.constants, bindings)
