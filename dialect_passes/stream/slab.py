"""What IREE really allocates: transient storage, read back from lowered IR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import constant_index, lifetime
from serenity_mlir.dialect_passes.stream.regions import functions

_ALLOCATE = "stream.resource.alloca"
_RELEASE = "stream.resource.dealloca"


@dataclass(frozen=True, slots=True)
class Slab:
    """Transient bytes of a module at the end of phase `stream`.

    Attributes:
        model: The most that any one function has allocated at once, the functions that it
            calls included; None where some allocation has no constant size.
        initializer: The same for what runs once at load.
    """

    model: int | None
    initializer: int | None


def slab(module: ir.Operation) -> Slab:
    """Read back the transient allocations of every function."""
    found = dict(functions(module))
    own = {name: _most_live(function) for name, function in found.items()}
    initial = [name for name, function in found.items() if function.name == "util.initializer"]
    totals = {name: _with_callees(name, found, own, ()) for name in found}
    return Slab(
        model=_largest(total for name, total in totals.items() if name not in initial),
        initializer=_largest(totals[name] for name in initial),
    )


def _largest(values: Iterator[int | None]) -> int | None:
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
    names: list[str] = []

    def collect(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name in ("util.call", "func.call"):
            names.append(ir.FlatSymbolRefAttr(op.operation.attributes["callee"]).value)
        return ir.WalkResult.ADVANCE

    function.walk(collect)
    return list(dict.fromkeys(names))


def _most_live(function: ir.Operation) -> int | None:
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
            if op.name == _ALLOCATE and lifetime(op.results[0]) == "transient":
                size = constant_index(op.operands[0])
                if size is None:
                    return None
                sizes[op.results[0]] = size
                live.add(op.results[0])
            elif op.name == _RELEASE:
                live.discard(op.operands[0])
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
