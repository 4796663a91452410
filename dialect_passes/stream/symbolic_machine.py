"""Symbolic execution of one `stream.cmd.execute` region: what it reads, writes and leaves."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import constant_index, is_resource, only_writes
from serenity_mlir.dialect_passes.stream.regions import Region, functions
from serenity_mlir.dialect_passes.stream.symbolic_memory import (
    UNDEFINED,
    UNIFORM,
    Content,
    Memory,
    Terms,
)

_READS, _WRITES = 1, 2
_ORDER_ONLY = ("stream.cmd.flush", "stream.cmd.invalidate", "stream.cmd.discard", "stream.yield")
_NESTED = ("stream.cmd.serial", "stream.cmd.concurrent")
_PACK = "stream.resource.pack"


class NotConstantError(Exception):
    """An offset or a length is no constant, or an op is not understood."""


@dataclass(frozen=True)
class Body:
    """A region with names for values around it that mean the same in both programs."""

    region: Region
    names: dict[ir.Value, Hashable]

    @property
    def name(self) -> str:
        """The region's name."""
        return self.region.name

    def steps(self) -> Iterator[ir.Operation]:
        """Its ops in program order; concurrent ones count as serial."""
        return _steps(self.region.op.regions[0].blocks[0])


@dataclass(frozen=True, slots=True)
class Place:
    """Where an op reads or writes.

    Attributes:
        memory: The storage or slice.
        start: The byte there, or the constant part of it.
        length: Bytes; 0 where that is no constant.
        unknown: Names for what is added to `start` at run time, and for a length that is no
            constant.
        extent: The first byte that the op may touch and the one after the last; None for all.
    """

    memory: Memory
    start: int
    length: int
    unknown: tuple[Hashable, ...]
    extent: tuple[int, int] | None

    def held(self, other: Place | None = None) -> Content:
        """What the extent holds: this one's, or that of `other`, the same place in another program."""
        found = (other or self).extent
        if found is None:
            return self.memory.everything()
        by = self.start - other.start if other else 0
        return self.memory.read(found[0] + by, found[1] + by)

    def put(self, content: Content, other: Place | None = None) -> None:
        """Let the extent, this one's or that of `other`, hold `content`."""
        found = (other or self).extent
        if found is None:
            self.memory.replace(content[0][2])
        else:
            by = self.start - other.start if other else 0
            self.memory.write(found[0] + by, found[1] + by, content)

    @property
    def into(self) -> int:
        """How far `start` is into the extent."""
        return self.start - self.extent[0] if self.extent else self.start


@dataclass
class Machine:
    """Symbolic memory of one region, one `Memory` for each storage and each slice."""

    body: Body
    terms: Terms
    memory: dict[str, Memory] = field(default_factory=dict)
    storage: dict[ir.Value, tuple[str, int, int | None]] = field(default_factory=dict)
    outliving: list[ir.Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Give each captured operand its storage; subviews of one resource share it."""
        execute = self.body.region.op
        captured = [operand for operand in execute.operands if is_resource(operand)]
        known: dict[ir.Value, str] = {}
        arguments = execute.regions[0].blocks[0].arguments
        for index, (operand, argument) in enumerate(zip(captured, arguments, strict=True)):
            base, slice_number, offset = _base(operand)
            name = known.setdefault(base, f"#{index}")
            slab = _is_slab(base)
            label = name if slice_number is None else f"{name}/{slice_number}"
            if label not in self.memory:
                self.memory[label] = Memory(UNDEFINED if slab else self.terms.intern("initial", index))
            size = constant_index(execute.operands[len(captured) + index])
            self.storage[argument] = label, offset, size
            if not slab:
                self.outliving.append(argument)

    def captured(self) -> list[Content]:
        """What each buffer that outlives the region holds now, in the order of capture."""
        out = []
        for argument in self.outliving:
            label, offset, size = self.storage[argument]
            memory = self.memory[label]
            out.append(memory.everything() if size is None else memory.read(offset, offset + size))
        return out

    def adopt(self, other: Machine) -> None:
        """Hold what the buffers that outlive the region hold in `other`, which has them sliced."""
        for argument, other_argument in zip(self.outliving, other.outliving, strict=True):
            label, offset, size = self.storage[argument]
            other_label, other_offset, _ = other.storage[other_argument]
            if size is not None:
                content = other.memory[other_label].read(other_offset, other_offset + size)
                self.memory[label].write(offset, offset + size, content)

    def locate(self, resource: ir.Value, offset: ir.Value, length: ir.Value) -> Place:
        """Where `length` bytes from `offset` of `resource` on are."""
        label, base, size = self.storage[resource]
        address = _address(offset)
        if address.slice_number is not None:
            label, base, size = f"{label}/{address.slice_number}", 0, address.slice_size
            self.memory.setdefault(label, Memory(UNDEFINED))
        start, count = base + address.start, constant_index(length)
        unknown = tuple(sorted((self.describe(value) for value in address.unknown), key=str))
        if count is None:
            unknown = (*unknown, ("length", self.describe(length)))
        extent: tuple[int, int] | None = (start, start + (count or 0))
        if unknown:
            extent = None if size is None else (base, base + size)
        return Place(self.memory[label], start, count or 0, unknown, extent)

    def read(self, place: Place) -> Content:
        """What the bytes at `place` hold."""
        content = place.held()
        if not place.unknown:
            return content
        return ((0, place.length, self.terms.intern("from", content, place.into, place.unknown), 0),)

    def written(self, place: Place, content: Content) -> Content:
        """What the extent of `place` holds once `content` is there."""
        if not place.unknown:
            return content
        term = self.terms.intern("into", place.held(), place.into, place.unknown, content)
        length = place.extent[1] - place.extent[0] if place.extent else 0
        return ((0, length, term, 0),)

    def describe(self, value: ir.Value) -> Hashable:
        """A name for a scalar that means the same in both programs."""
        if value in self.body.names:
            return self.body.names[value]
        owner = value.owner
        if isinstance(owner, ir.Block) or not owner.name.startswith("arith."):
            raise NotConstantError
        attributes = tuple(f"{name} = {owner.attributes[name]}" for name in owner.attributes)
        return (owner.name, str(value.type), attributes, *map(self.describe, owner.operands))


@dataclass(frozen=True)
class Step:
    """What one op does: places that it reads, places that it writes, and what it is."""

    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    what: tuple[Hashable, ...]


def decode(machine: Machine, op: ir.Operation) -> Step:
    """What `op` does; NotConstantError where that is not understood."""
    if op.name == "stream.cmd.fill":
        target, _, offset, length, value = op.operands
        return Step((), (machine.locate(target, offset, length),), ("fill", machine.describe(value)))
    if op.name == "stream.cmd.copy":
        source, _, source_offset, target, _, target_offset, length = op.operands
        places = (
            machine.locate(source, source_offset, length),
            machine.locate(target, target_offset, length),
        )
        return Step(places[:1], places[1:], ("copy",))
    if op.name == "stream.cmd.dispatch":
        return _decode_dispatch(machine, op)
    if op.name in _ORDER_ONLY:
        return Step((), (), ("nothing",))
    raise NotConstantError


def _decode_dispatch(machine: Machine, op: ir.Operation) -> Step:
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    starts = [sum(segments[:index]) for index in range(len(segments))]
    operands = list(op.operands)
    bindings = [
        machine.locate(*(operands[starts[segment] + index] for segment in (2, 4, 5)))
        for index in range(segments[2])
    ]
    accesses = [ir.IntegerAttr(item).value for item in ir.ArrayAttr(op.attributes["resource_accesses"])]
    both = _READS | _WRITES
    for index, access in enumerate(accesses):
        if access & both == both and only_writes(op, index):
            accesses[index] = _WRITES
    pairs = list(zip(bindings, accesses, strict=True))
    return Step(
        tuple(binding for binding, access in pairs if access & _READS),
        tuple(binding for binding, access in pairs if access & _WRITES),
        ("dispatch", str(op.attributes["entry_points"]), *map(machine.describe, operands[: starts[2]])),
    )


def outputs_of(machine: Machine, step: Step, inputs: tuple[Content, ...]) -> Iterator[Content]:
    """What the op puts into each place that it writes."""
    for index, place in enumerate(step.writes):
        if step.what[0] == "copy":
            yield inputs[0]
        elif step.what[0] == "fill":
            yield ((0, place.length, machine.terms.intern(*step.what), UNIFORM),)
        else:
            yield ((0, place.length, machine.terms.intern(step.what, inputs, index), 0),)


def _steps(block: ir.Block) -> Iterator[ir.Operation]:
    for item in block.operations:
        op = item.operation
        if op.name in _NESTED:
            yield from _steps(op.regions[0].blocks[0])
        else:
            yield op


def _base(value: ir.Value) -> tuple[ir.Value, int | None, int]:
    """The storage that `value` is a subview of, the slice of it if packed, and where in that."""
    slice_number, start = None, 0
    while not isinstance(value.owner, ir.Block) and value.owner.name == "stream.resource.subview":
        address = _address(value.owner.operands[2])
        if address.unknown or (address.slice_number is not None and slice_number is not None):
            break
        slice_number = address.slice_number if slice_number is None else slice_number
        start += address.start
        value = value.owner.operands[0]
    return value, slice_number, start


def _is_slab(value: ir.Value) -> bool:
    """Storage that one region allocates for its own slices and gives back."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stream.resource.alloca":
        return False
    users = [use.owner.operation.name for use in value.uses]
    return sorted(users) == ["stream.cmd.execute", "stream.resource.dealloca"]


@dataclass(frozen=True, slots=True)
class _Address:
    """A sum: the start of a slice if any, a constant, and values that are no constants."""

    slice_number: int | None = None
    slice_size: int | None = None
    start: int = 0
    unknown: tuple[ir.Value, ...] = ()


def _address(offset: ir.Value) -> _Address:
    owner = offset.owner
    if not isinstance(owner, ir.Block) and owner.name == _PACK:
        return _slice_start(owner, ir.OpResult(offset).result_number)
    if isinstance(owner, ir.Block) or owner.name != "arith.addi":
        number = constant_index(offset)
        return _Address(unknown=(offset,)) if number is None else _Address(start=number)
    one, other = (_address(operand) for operand in owner.operands)
    if one.slice_number is None:
        one, other = other, one
    if other.slice_number is not None:
        return _Address(unknown=(offset,))
    return _Address(one.slice_number, one.slice_size, one.start + other.start, one.unknown + other.unknown)


def _slice_start(pack: ir.Operation, number: int) -> _Address:
    has_offset, _ = ir.DenseI32ArrayAttr(pack.attributes["operandSegmentSizes"])
    if number == 0 or has_offset:
        return _Address(unknown=(pack.results[number],))
    return _Address(number, constant_index(pack.operands[number - 1]))


def outer_names(module: ir.Operation) -> dict[ir.Value, Hashable]:
    """Names for scalars outside the regions, counted function by function.

    What `arith` computes goes by its operands and constants go by value: plans and orders may add some.
    """
    names: dict[ir.Value, Hashable] = {}
    for function_name, function in functions(module):
        counted = (value for value in _outer_values(function) if not str(value.type).startswith("!stream."))
        names.update((value, f"{function_name}:{count}") for count, value in enumerate(counted))
    return names


def _outer_values(op: ir.Operation) -> Iterator[ir.Value]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments
            for item in block.operations:
                inner = item.operation
                if inner.name.startswith("arith.") or inner.name == _PACK:
                    continue
                yield from inner.results
                if inner.name != "stream.cmd.execute":
                    yield from _outer_values(inner)
