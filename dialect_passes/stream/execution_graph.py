"""From the body of a `stream.async.execute` to a memory graph.

What this graph says of a body is what `iree-stream-schedule-allocation` packs: fresh
storage that does not leave the body is a slice of the slab; what is captured, yielded or
constant is somebody else's, size 0 here. Precedence is SSA, plus write-after-read: IREE
elides copies by program order, so a reader and a later in-place update of one buffer
need not have an edge between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.node_names import node_names
from serenity_mlir.dialect_passes.stream.access import CONCURRENT, Access, access_of, is_resource, lifetime
from serenity_mlir.dialect_passes.stream.spans import SpanOrder, rechainable, spans_of
from serenity_mlir.graph import Buffer, MemoryGraph, Op


class UnschedulableError(Exception):
    """The body has no constant sizes, or holds what no order may be changed for. Says why."""


@dataclass(frozen=True)
class ExecutionGraph:
    """The memory graph of one body with the ops that its indices stand for.

    Attributes:
        graph: Ops in program order; sizes are aligned.
        ops: The body's ops without the terminator, in the same order.
        chains: Of every value whose storage is written slice by slice in an order that is free,
            the number of that storage; empty unless `by_slices`.
    """

    graph: MemoryGraph
    ops: tuple[ir.Operation, ...]
    chains: Mapping[ir.Value, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Held:
    """Storage that is no slice of a region's slab, where one arena holds it too.

    Attributes:
        number: Which one it is of those of the function.
        name: What people call it: "input 0", "output 0".
        size: Bytes, aligned.
        arguments: Positions of the block's arguments that are it.
        results: Positions of the results that are it.
        live_in: Whether it holds data before the region runs.
        live_out: Whether it is needed after the region.
    """

    number: int
    name: str
    size: int
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    live_in: bool
    live_out: bool


def execution_graph(
    execute: ir.Operation, *, alignment: int, held: Sequence[Held] = (), by_slices: bool = False
) -> ExecutionGraph:
    """The memory graph of the body of a `stream.async.execute`.

    Args:
        execute: The region op.
        alignment: Bytes to which each size is rounded up.
        held: Storage to count that is not the region's own; its buffers are the graph's last.
        by_slices: Whether in-place writes of disjoint slices of one buffer may change places. An
            order that makes use of it needs `rechain`, or SSA ties contradict it.

    Raises:
        UnschedulableError: A size is no constant, or a concurrent region is left in the body.
    """
    block = execute.regions[0].blocks[0]
    *ops, terminator = (op.operation for op in block.operations)
    if any(op.name == CONCURRENT for op in ops):
        raise UnschedulableError("a stream.async.concurrent is left in the body")
    accesses = [access_of(op) for op in ops]
    storage = _Storage.of(block, ops, accesses)
    owned = storage.owned_sizes(ops, accesses, terminator, alignment)
    numbers = {root: number for number, root in enumerate(owned)}
    apart = _Storage.of(block, ops, accesses, aliased=False) if held else storage
    for number, item in enumerate(held, start=len(owned)):
        values = [block.arguments[index] for index in item.arguments]
        values += [terminator.operands[index] for index in item.results]
        for root in map(apart.root, values):
            if numbers.setdefault(root, number) != number:
                raise UnschedulableError(f"an unknown op may hand on the storage of {item.name} as another's")
    touches = [_classes(apart, access) for access in accesses]
    captured = {storage.find(index) for index in storage.captured}
    free = rechainable(ops, accesses, terminator, storage.root, captured) if by_slices else frozenset[int]()
    graph = MemoryGraph(
        ops=tuple(
            Op(
                label(op),
                tuple(dict.fromkeys(numbers[root] for root in roots if root in numbers)),
                frozenset(numbers[root] for root in _updated(apart, access) if root in numbers),
            )
            for op, roots, access in zip(ops, touches, accesses, strict=True)
        ),
        buffers=(
            *(Buffer(name, size) for name, size in owned.values()),
            *(Buffer(item.name, item.size, item.live_in, item.live_out) for item in held),
        ),
        preds=_precedence(ops, accesses, storage, free),
    )
    chains = {value: storage.root(value) for value in storage.number if storage.root(value) in free}
    return ExecutionGraph(graph, tuple(ops), chains)


def yielded_arguments(execute: ir.Operation) -> list[tuple[int, int | None]]:
    """For each resource result a number for its storage, and the block argument that it lies in, if any."""
    block = execute.regions[0].blocks[0]
    *ops, terminator = (op.operation for op in block.operations)
    storage = _Storage.of(block, ops, [access_of(op) for op in ops], aliased=False)
    given = {storage.root(value): index for index, value in enumerate(block.arguments) if is_resource(value)}
    roots = [storage.root(value) for value in terminator.operands if is_resource(value)]
    return [(root, given.get(root)) for root in roots]


def label(op: ir.Operation) -> str:
    """What people call an op: its title, then the model's nodes it came from."""
    nodes = node_names(op.location)
    return f"{title(op)} [{', '.join(nodes)}]" if nodes else title(op)


def title(op: ir.Operation) -> str:
    """The dispatch function of an op, or its kind."""
    if "entry_points" in op.attributes:
        symbol = ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0])
        return str(symbol.value[-1])
    return str(op.name).removeprefix("stream.async.")


@dataclass
class _Storage:
    """Which values share storage (union-find over numbers of values)."""

    number: dict[ir.Value, int] = field(default_factory=dict)
    parent: list[int] = field(default_factory=list)
    captured: set[int] = field(default_factory=set)

    @classmethod
    def of(
        cls, block: ir.Block, ops: list[ir.Operation], accesses: list[Access], *, aliased: bool = True
    ) -> _Storage:
        storage = cls()
        mutable = [arg for arg in block.arguments if is_resource(arg) and lifetime(arg) != "constant"]
        for argument in block.arguments:
            if is_resource(argument):
                storage.captured.add(storage._add(argument))
        # Captured operands may name one storage twice (an earlier region's tied result and its
        # operand, a subview), so whatever is not constant counts as one.
        for argument in mutable[1:] if aliased else ():
            storage._merge(mutable[0], argument)
        for op, access in zip(ops, accesses, strict=True):
            for result in access.results:
                storage._add(result.value)
                if result.tied is not None:
                    storage._merge(op.operands[result.tied], result.value)
                elif access.barrier:
                    for operand in access.reads:
                        storage._merge(operand, result.value)
        return storage

    def root(self, value: ir.Value) -> int:
        """The number of the storage that `value` lives in."""
        return self.find(self.number[value])

    def owned_sizes(
        self, ops: list[ir.Operation], accesses: list[Access], terminator: ir.Operation, alignment: int
    ) -> dict[int, tuple[str, int]]:
        """Name and aligned size of every storage that is a slice of the slab, by its root."""
        foreign = {self.root(operand) for operand in terminator.operands if is_resource(operand)}
        foreign |= {self.find(index) for index in self.captured}
        owned: dict[int, tuple[str, int]] = {}
        for op, access in zip(ops, accesses, strict=True):
            for result in access.results:
                root = self.root(result.value)
                if result.tied is not None or root in foreign or lifetime(result.value) == "constant":
                    continue
                if result.size is None:
                    raise UnschedulableError(f"a result of {label(op)} has no constant size")
                owned[root] = (label(op), -(-result.size // alignment) * alignment)
        return owned

    def find(self, index: int) -> int:
        """The number of the storage of value `index`."""
        while self.parent[index] != index:
            self.parent[index] = index = self.parent[self.parent[index]]
        return index

    def _add(self, value: ir.Value) -> int:
        index = len(self.parent)
        self.number[value] = index
        self.parent.append(index)
        return index

    def _merge(self, one: ir.Value, other: ir.Value) -> None:
        self.parent[self.root(other)] = self.root(one)


def _classes(storage: _Storage, access: Access) -> list[int]:
    """Roots of the storage that an op touches, each once."""
    values = [*access.reads, *(result.value for result in access.results)]
    return list(dict.fromkeys(storage.root(value) for value in values))


def _written(storage: _Storage, access: Access) -> set[int]:
    """Roots of the storage whose content an op sets: fresh, in place, or behind a barrier."""
    return {storage.root(result.value) for result in access.results} | _updated(storage, access)


def _updated(storage: _Storage, access: Access) -> set[int]:
    """Roots of the storage that an op changes in place, or may change because it is a barrier."""
    updated = {storage.root(result.value) for result in access.results if result.tied is not None}
    if access.barrier:
        updated |= {storage.root(operand) for operand in access.reads}
    return updated


def _precedence(
    ops: list[ir.Operation], accesses: list[Access], storage: _Storage, free: frozenset[int]
) -> tuple[tuple[int, ...], ...]:
    """SSA, read-after-write and write-after-read on every alias, and barriers.

    In the storage `free` the bytes that are touched decide, and ties do not.
    """
    position = {op: index for index, op in enumerate(ops)}
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    orders = {root: SpanOrder() for root in free}
    barrier: int | None = None
    out: list[tuple[int, ...]] = []
    for index, (op, access) in enumerate(zip(ops, accesses, strict=True)):
        fixed = [value for value in op.operands if not (is_resource(value) and storage.root(value) in free)]
        preds = {position[owner] for owner in _producers(fixed) if owner in position}
        if access.barrier:
            preds.update(range(barrier or 0, index))
            barrier = index
        elif barrier is not None:
            preds.add(barrier)
        written = _written(storage, access)
        for root in _classes(storage, access):
            if root in free:
                spans = [span for span in spans_of(op, access) if storage.root(span.value) == root]
                preds |= orders[root].add(index, spans)
                continue
            if root in writer:
                preds.add(writer[root])
            if root in written:
                preds.update(readers.pop(root, ()))
                writer[root] = index
            else:
                readers.setdefault(root, []).append(index)
        out.append(tuple(sorted(preds)))
    return tuple(out)


def _producers(values: list[ir.Value]) -> list[ir.Operation]:
    """The ops that define `values`; block arguments have none."""
    owners = (value.owner for value in values)
    return [
        owner.operation if hasattr(owner, "operation") else owner
        for owner in owners
        if not isinstance(owner, ir.Block)
    ]
