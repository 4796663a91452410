"""Storage that regions get or give: inputs, outputs, and what one region hands to the next.

IREE has callers own it, and allocates what lies between regions apart. In one arena
(`--io arena`) it is packed with everything else, so the model needs to know how long each lives.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import constant_index, is_resource, lifetime
from serenity_mlir.dialect_passes.stream.execution_graph import Held, UnschedulableError, yielded_arguments
from serenity_mlir.dialect_passes.stream.regions import Region

_EXECUTE = "stream.async.execute"
_IMPORT, _EXPORT = "stream.tensor.import", "stream.tensor.export"
_READERS = ("stream.async.load",)
_BETWEEN = "between regions"


@dataclass
class _Storage:
    """One allocation. `first` is the region that makes it, `last` the one after which nobody reads it."""

    name: str
    size: int
    first: int
    last: int


@dataclass
class _Walk:
    """The host's ops in program order, up to region number `region`."""

    regions: dict[ir.Operation, int]
    storages: list[_Storage] = field(default_factory=list)
    of: dict[ir.Value, int] = field(default_factory=dict)
    arguments: list[dict[int, int]] = field(default_factory=list)
    results: list[dict[int, int]] = field(default_factory=list)

    def step(self, op: ir.Operation) -> None:
        if op.name == _EXECUTE:
            self._execute(op)
        elif op.name == _IMPORT:
            self._new(op.results[0], f"input {_argument(op.operands[0])}", op.operands[-1], -1)
        elif op.name == _EXPORT:
            storage = self.storages[self.of[op.operands[0]]]
            storage.name = f"output {_returned(op)}" if storage.name.startswith(_BETWEEN) else storage.name
            storage.last = len(self.regions)
        elif op.name == "stream.timepoint.await":
            given = [operand for operand in op.operands if is_resource(operand)]
            for result, operand in zip(op.results, given, strict=True):
                if operand in self.of:
                    self.of[result] = self.of[operand]
        elif op.name in _READERS:
            self._touch(op.operands[0])
        elif op.name.endswith("return"):
            self._return(op)
        elif any(_held(value) for value in (*op.operands, *op.results)) or _holds_regions(op):
            raise UnschedulableError(f"{op.name} outside of the regions holds storage or control flow")

    def _return(self, op: ir.Operation) -> None:
        """An argument that is returned as it came stays until the end."""
        returned = {f"input {_argument(value)}" for value in op.operands if isinstance(value.owner, ir.Block)}
        for storage in self.storages:
            if storage.name in returned:
                storage.last = len(self.regions)

    def _execute(self, op: ir.Operation) -> None:
        region = self.regions[op]
        given = [operand for operand in op.operands if is_resource(operand)]
        arguments = {index: self.of[value] for index, value in enumerate(given) if value in self.of}
        for value in given:
            if _held(value) and value not in self.of:
                raise UnschedulableError(f"a region uses {lifetime(value)} storage that outlives a call")
            self._touch(value, region)
        results: dict[int, int] = {}
        sizes = _result_sizes(op, len(given))
        seen: dict[int, int] = {}
        for index, (source, argument) in enumerate(yielded_arguments(op)):
            if argument is not None:
                number = arguments[argument]
                self.of[op.results[index]] = number
            elif source in seen:
                self.of[op.results[index]] = number = seen[source]
            else:
                number = seen[source] = self._new(op.results[index], self._between(), sizes[index], region)
            results[index] = number
        self.arguments.append(arguments)
        self.results.append(results)

    def _between(self) -> str:
        return f"{_BETWEEN} ({len(self.storages)})"

    def _touch(self, value: ir.Value, region: int | None = None) -> None:
        if value in self.of:
            storage = self.storages[self.of[value]]
            storage.last = max(storage.last, len(self.arguments) - 1 if region is None else region)

    def _new(self, value: ir.Value, name: str, size: ir.Value, region: int) -> int:
        nbytes = constant_index(size)
        if nbytes is None:
            raise UnschedulableError(f"{name} has no constant size")
        self.of[value] = len(self.storages)
        self.storages.append(_Storage(name, nbytes, region, region))
        return self.of[value]


def held_storage(function: ir.Operation, found: list[Region], alignment: int) -> list[tuple[Held, ...]]:
    """For each region of a function the storage that is there while it runs and not its own.

    Args:
        function: After `iree-stream-async-transformation-pipeline`.
        found: Its execution regions, in program order.
        alignment: Bytes to which sizes are rounded up.

    Raises:
        UnschedulableError: Control flow, state or a size that is no constant: no one arena.
    """
    if len(function.regions[0].blocks) != 1:
        raise UnschedulableError("the function has control flow")
    walk = _Walk({region.op: index for index, region in enumerate(found)})
    for op in function.regions[0].blocks[0].operations:
        walk.step(op.operation)
    return [_of_region(walk, index, alignment) for index in range(len(found))]


def _of_region(walk: _Walk, region: int, alignment: int) -> tuple[Held, ...]:
    out = []
    for number, storage in enumerate(walk.storages):
        if not storage.first <= region <= storage.last:
            continue
        out.append(
            Held(
                number=number,
                name=storage.name,
                size=-(-storage.size // alignment) * alignment,
                arguments=tuple(key for key, value in walk.arguments[region].items() if value == number),
                results=tuple(key for key, value in walk.results[region].items() if value == number),
                live_in=storage.first < region,
                live_out=region < storage.last,
            )
        )
    return tuple(out)


def _argument(value: ir.Value) -> int:
    """Which argument of the function an import takes."""
    if not isinstance(value.owner, ir.Block):
        raise UnschedulableError("an input is no argument of the function")
    number: int = ir.BlockArgument(value).arg_number
    return number


def _returned(export: ir.Operation) -> int:
    """Which result of the function an export makes; the first, where it makes several."""
    places = [
        use.operand_number for use in export.results[0].uses if use.owner.operation.name.endswith("return")
    ]
    if not places:
        raise UnschedulableError("an output is no result of the function")
    first: int = min(places)
    return first


def _held(value: ir.Value) -> bool:
    return is_resource(value) and lifetime(value) != "constant"


def _holds_regions(op: ir.Operation) -> bool:
    return len(op.regions) > 0 or op.name.endswith(".call")


def _result_sizes(op: ir.Operation, given: int) -> list[ir.Value]:
    """The operands after the resources: a size for each of them, then one for each result."""
    sizes = [operand for operand in op.operands if str(operand.type) == "index"]
    return sizes[given : given + sum(map(is_resource, op.results))]
