"""Symbolic execution of one `stream.cmd.execute` region: what it reads, writes and leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import constant_index, is_resource
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
    names: dict[ir.Value, str]

    @property
    def name(self) -> str:
        """The region's name."""
        return self.region.name

    def steps(self) -> Iterator[ir.Operation]:
        """Its ops in program order; concurrent ones count as serial."""
        return _steps(self.region.op.regions[0].blocks[0])


@dataclass
class Machine:
    """Symbolic memory of one region, one `Memory` for each storage and each slice."""

    body: Body
    terms: Terms = field(default_factory=Terms)
    memory: dict[str, Memory] = field(default_factory=dict)
    storage: dict[ir.Value, tuple[str, int]] = field(default_factory=dict)
    outliving: list[tuple[ir.Value, int | None]] = field(default_factory=list)

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
                fresh = slab or slice_number is not None
                self.memory[label] = Memory(UNDEFINED if fresh else self.terms.intern("initial", name))
            self.storage[argument] = label, offset
            if not slab:
                size = constant_index(execute.operands[len(captured) + index])
                self.outliving.append((argument, size))

    def captured(self) -> list[Content]:
        """What each buffer that outlives the region holds now, in the order of capture."""
        out = []
        for argument, size in self.outliving:
            label, offset = self.storage[argument]
            memory = self.memory[label]
            out.append(memory.everything() if size is None else memory.read(offset, offset + size))
        return out

    def locate(self, resource: ir.Value, offset: ir.Value) -> tuple[Memory, int]:
        """The memory that `offset` of `resource` is in, and the byte there."""
        label, base = self.storage[resource]
        slice_number, start = _address(offset)
        if slice_number is not None:
            label = f"{label}/{slice_number}"
            self.memory.setdefault(label, Memory(UNDEFINED))
        return self.memory[label], base + start

    def read(self, resource: ir.Value, offset: ir.Value, length: ir.Value) -> Content:
        """What `length` bytes from `offset` on hold."""
        memory, start = self.locate(resource, offset)
        return memory.read(start, start + _constant(length))

    def write(self, resource: ir.Value, offset: ir.Value, content: Content) -> None:
        """Put `content` there."""
        memory, start = self.locate(resource, offset)
        memory.write(start, start + content[-1][1] if content else start, content)

    def describe(self, value: ir.Value) -> str:
        """A name for a scalar that means the same in both programs."""
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name == "arith.constant":
            return str(owner.attributes["value"])
        if value in self.body.names:
            return self.body.names[value]
        raise NotConstantError


@dataclass(frozen=True)
class Step:
    """What one op does: ranges that it reads, ranges that it writes, and what it is."""

    reads: tuple[tuple[ir.Value, ir.Value, ir.Value], ...]
    writes: tuple[tuple[ir.Value, ir.Value, ir.Value], ...]
    what: tuple[str, ...]


def decode(machine: Machine, op: ir.Operation) -> Step:
    """What `op` does; NotConstantError where that is not understood."""
    if op.name == "stream.cmd.fill":
        target, _, offset, length, value = op.operands
        return Step((), ((target, offset, length),), ("fill", machine.describe(value)))
    if op.name == "stream.cmd.copy":
        source, _, source_offset, target, _, target_offset, length = op.operands
        return Step(((source, source_offset, length),), ((target, target_offset, length),), ("copy",))
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
        (operands[starts[2] + index], operands[starts[4] + index], operands[starts[5] + index])
        for index in range(segments[2])
    ]
    accesses = [ir.IntegerAttr(item).value for item in ir.ArrayAttr(op.attributes["resource_accesses"])]
    pairs = list(zip(bindings, accesses, strict=True))
    return Step(
        tuple(binding for binding, access in pairs if access & _READS),
        tuple(binding for binding, access in pairs if access & _WRITES),
        ("dispatch", str(op.attributes["entry_points"]), *map(machine.describe, operands[: starts[2]])),
    )


def outputs_of(machine: Machine, step: Step, inputs: tuple[Content, ...]) -> Iterator[Content]:
    """What the op puts into each range that it writes."""
    for index, (_, _, length) in enumerate(step.writes):
        if step.what[0] == "copy":
            yield inputs[0]
        elif step.what[0] == "fill":
            yield ((0, _constant(length), machine.terms.intern(*step.what), UNIFORM),)
        else:
            yield ((0, _constant(length), machine.terms.intern(step.what, inputs, index), 0),)


def _steps(block: ir.Block) -> Iterator[ir.Operation]:
    for item in block.operations:
        op = item.operation
        if op.name in _NESTED:
            yield from _steps(op.regions[0].blocks[0])
        else:
            yield op


def _base(value: ir.Value) -> tuple[ir.Value, int | None, int]:
    """The storage that `value` is a subview of, the slice of it if packed, and where in that."""
    slice_number, offset = None, 0
    while not isinstance(value.owner, ir.Block) and value.owner.name == "stream.resource.subview":
        try:
            number, start = _address(value.owner.operands[2])
        except NotConstantError:
            break
        if number is not None and slice_number is not None:
            break
        slice_number = number if number is not None else slice_number
        offset += start
        value = value.owner.operands[0]
    return value, slice_number, offset


def _is_slab(value: ir.Value) -> bool:
    """Storage that one region allocates for its own slices and gives back."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stream.resource.alloca":
        return False
    users = [use.owner.operation.name for use in value.uses]
    return sorted(users) == ["stream.cmd.execute", "stream.resource.dealloca"]


def _address(offset: ir.Value) -> tuple[int | None, int]:
    """The slice that an offset points into, if any, and the bytes from its start."""
    owner = offset.owner
    if isinstance(owner, ir.Block):
        raise NotConstantError
    if owner.name == _PACK:
        return ir.OpResult(offset).result_number, 0
    if owner.name == "arith.addi":
        (left, start), (right, more) = (_address(operand) for operand in owner.operands)
        if left is not None and right is not None:
            raise NotConstantError
        return (right if left is None else left), start + more
    return None, _constant(offset)


def _constant(value: ir.Value) -> int:
    number = constant_index(value)
    if number is None:
        raise NotConstantError
    return number


def outer_names(module: ir.Operation) -> dict[ir.Value, str]:
    """Names for values outside the regions. Constants go by value: plans add some."""
    names: dict[ir.Value, str] = {}
    for function_name, function in functions(module):
        count = 0
        for block in function.regions[0].blocks:
            for argument in block.arguments:
                names[argument], count = f"{function_name}:{count}", count + 1
            for item in block.operations:
                op = item.operation
                if op.name in ("arith.constant", _PACK):
                    continue
                for result in op.results:
                    names[result], count = f"{function_name}:{count}", count + 1
    return names
