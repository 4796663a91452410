"""What IREE really allocates: transient storage, read back from lowered IR.

`slab` reads the stream dialect, where transient storage is told from results by its type;
`compiled_allocations` reads the calls of the finished VM module that the runtime will make.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import constant_index, lifetime
from serenity_mlir.dialect_passes.stream.regions import functions

_CALLS = ("util.call", "func.call")
_VM_ALLOCATE = "hal.device.queue.alloca"


@dataclass(frozen=True, slots=True)
class Slab:
    """Transient bytes of a module.

    Attributes:
        model: The most that any one function has allocated at once, the functions that it
            calls included; None where some allocation has no constant size.
        initializer: The same for what runs once at load.
    """

    model: int | None
    initializer: int | None


@dataclass(frozen=True, slots=True)
class _Event:
    """An allocation of `size` bytes (None: not constant) or the release of one."""

    kind: Literal["allocate", "release"]
    buffer: ir.Value
    size: int | None = None


_Events = Callable[[ir.Operation], _Event | None]


def slab(module: ir.Operation, packs: Mapping[ir.Operation, int | None] | None = None) -> Slab:
    """Transient bytes of a module in the stream dialect.

    Args:
        module: After `iree-stream-schedule-allocation`.
        packs: Bytes to assume for each `stream.resource.pack` that is still there.
    """
    found = dict(functions(module))
    initial = {name for name, function in found.items() if function.name == "util.initializer"}
    return _total(found, initial, lambda op: _stream_event(op, packs or {}))


def allocations(module: ir.Operation) -> Counter[int]:
    """How often each size of transient storage is allocated in a module in the stream dialect.

    Sizes that are no constants are left out.
    """
    events = (_stream_event(op, {}) for _, function in functions(module) for op in _all(function))
    return Counter(item.size for item in events if item and item.kind == "allocate" and item.size is not None)


def compiled_allocations(module: ir.Operation) -> Counter[int]:
    """How often each size is asked for in a module after phase `end`, results included."""
    sizes = [
        _vm_constant(op.operands[7])
        for op in _all(module)
        if op.name == "vm.call" and ir.FlatSymbolRefAttr(op.attributes["callee"]).value == _VM_ALLOCATE
    ]
    return Counter(size for size in sizes if size is not None)


def _all(root: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def collect(op: ir.Operation) -> ir.WalkResult:
        found.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.walk(collect)
    return found


def _stream_event(op: ir.Operation, packs: Mapping[ir.Operation, int | None]) -> _Event | None:
    if op.name == "stream.resource.dealloca":
        return _Event("release", op.operands[0])
    if op.name != "stream.resource.alloca" or lifetime(op.results[0]) != "transient":
        return None
    owner = op.operands[0].owner
    if not isinstance(owner, ir.Block) and owner.operation in packs:
        return _Event("allocate", op.results[0], packs[owner.operation])
    return _Event("allocate", op.results[0], constant_index(op.operands[0]))


def _vm_constant(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or not owner.name.startswith("vm.const.i64"):
        return None
    return ir.IntegerAttr(owner.attributes["value"]).value if "value" in owner.attributes else 0


def _total(found: dict[str, ir.Operation], initial: set[str], events: _Events) -> Slab:
    own = {name: _most_live(function, events) for name, function in found.items()}
    totals = {name: _with_callees(name, found, own, ()) for name in found}
    return Slab(
        model=_largest(total for name, total in totals.items() if name not in initial),
        initializer=_largest(total for name, total in totals.items() if name in initial),
    )


def _largest(values: Iterable[int | None]) -> int | None:
    known = 0
    for value in values:
        if value is None:
            return None
        known = max(known, value)
    return known


def _with_callees(
    name: str, found: dict[str, ir.Operation], own: dict[str, int | None], active: tuple[str, ...]
) -> int | None:
    """A function's own transients and the largest of those of its callees."""
    total = own[name]
    if total is None:
        return None
    callees = [callee for callee in _callees(found[name]) if callee in found and callee not in active]
    inner = _largest(_with_callees(callee, found, own, (*active, name)) for callee in callees)
    return None if inner is None else total + inner


def _callees(function: ir.Operation) -> list[str]:
    calls = (op for op in _all(function) if op.name in _CALLS)
    return list(dict.fromkeys(ir.FlatSymbolRefAttr(op.attributes["callee"]).value for op in calls))


def _most_live(function: ir.Operation, events: _Events) -> int | None:
    """The most transient bytes live at once: may-be-live allocations, over all paths."""
    blocks = list(function.regions[0].blocks)
    index_of = {block: index for index, block in enumerate(blocks)}
    sizes: dict[ir.Value, int] = {}
    entry: list[frozenset[ir.Value]] = [frozenset()] * len(blocks)
    most, work = 0, list(range(len(blocks)))
    while work:
        index = work.pop(0)
        live = set(entry[index])
        for op in _ops(blocks[index]):
            event = events(op)
            if event is None:
                continue
            if event.kind == "release":
                live.discard(event.buffer)
                continue
            if event.size is None:
                return None
            sizes[event.buffer] = event.size
            live.add(event.buffer)
            most = max(most, sum(sizes[value] for value in live))
        for successor in _successors(blocks[index]):
            target = index_of[successor]
            if not live <= entry[target]:
                entry[target] |= live
                work.append(target)
    return most


def _ops(block: ir.Block) -> Iterator[ir.Operation]:
    """The ops of a block and of the regions of control flow in it, in order."""
    for item in block.operations:
        op = item.operation
        yield op
        if not op.name.startswith("stream."):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _ops(inner)


def _successors(block: ir.Block) -> list[ir.Block]:
    *_, terminator = block.operations
    return list(terminator.operation.successors)
