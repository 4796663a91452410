"""What IREE really allocates: transient storage, read back from lowered IR.

`slab` reads the stream dialect, where transient storage is told from results by its type;
`compiled_allocations` reads the calls of the finished VM module that the runtime will make.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import constant_index, lifetime
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.host_flow import HostFlow
from serenity_mlir.dialect_passes.stream.regions import functions

_ALLOCA = "stream.resource.alloca"
_TRANSIENT, _EXTERNAL = "transient", "external"
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


def slab(module: ir.Operation, packs: Mapping[ir.Operation, int | None] | None = None) -> Slab:
    """Transient bytes of a module in the stream dialect.

    Args:
        module: After `iree-stream-schedule-allocation`.
        packs: Bytes to assume for each `stream.resource.pack` that is still there.
    """
    found = dict(functions(module))
    initial = {name for name, function in found.items() if function.name == "util.initializer"}
    own = {name: _most_live(function, packs or {}) for name, function in found.items()}
    totals = {name: _with_callees(name, found, own, ()) for name in found}
    return Slab(
        model=_largest(total for name, total in totals.items() if name not in initial),
        initializer=_largest(total for name, total in totals.items() if name in initial),
    )


def allocations(
    module: ir.Operation, packs: Mapping[ir.Operation, int | None] | None = None
) -> Counter[int] | None:
    """How often each size of transient storage is allocated; None where one is no constant.

    Arguments are those of `slab`.
    """
    found = (op for op in _all(module) if op.name == _ALLOCA and lifetime(op.results[0]) == _TRANSIENT)
    sizes = [_size(op, packs or {}) for op in found]
    known = [size for size in sizes if size is not None]
    return Counter(known) if len(known) == len(sizes) else None


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


def _size(alloca: ir.Operation, packs: Mapping[ir.Operation, int | None]) -> int | None:
    owner = alloca.operands[0].owner
    if not isinstance(owner, ir.Block) and owner.operation in packs:
        return packs[owner.operation]
    return constant_index(alloca.operands[0])


def _vm_constant(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or not owner.name.startswith("vm.const.i64"):
        return None
    return ir.IntegerAttr(owner.attributes["value"]).value if "value" in owner.attributes else 0


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


def _most_live(function: ir.Operation, packs: Mapping[ir.Operation, int | None]) -> int | None:
    """The most bytes live at once that no caller owns, over all paths.

    What may become a result is caller-owned as far as the function's results go; a loop that
    carries one holds more, and that is no less transient.
    """
    allocas = [op for op in _all(function) if op.name == _ALLOCA]
    kinds = {op.results[0]: lifetime(op.results[0]) for op in allocas}
    known = {
        op.results[0]: _size(op, packs) for op in allocas if kinds[op.results[0]] in (_TRANSIENT, _EXTERNAL)
    }
    if any(size is None and kinds[value] == _TRANSIENT for value, size in known.items()):
        return None
    sizes = {value: size for value, size in known.items() if size is not None}
    if not sizes:
        return 0
    flow = HostFlow(function)
    _inherit(sizes, kinds, flow)
    results = _exported(function)
    most = 0
    for moment in flow.moments():
        held = Counter[str]()
        for value in moment.live & sizes.keys():
            held[kinds[value]] += sizes[value]
        most = max(most, held[_TRANSIENT] + max(held[_EXTERNAL] - results, 0))
    return most


def _inherit(sizes: dict[ir.Value, int], kinds: dict[ir.Value, str], flow: HostFlow) -> None:
    """Values that take over storage are as large as the largest that they may take over."""
    changed = True
    while changed:
        changed = False
        for taker, sources in flow.takers():
            size = max((sizes.get(source, 0) for source in sources), default=0)
            if size > sizes.get(taker, 0):
                sizes[taker], kinds[taker] = size, lifetime(taker)
                changed = True


def _exported(function: ir.Operation) -> int:
    """Bytes of a function's results, each aligned as where several share an allocation."""
    alignment = alignment_of(function)
    exports = (op for op in _all(function) if op.name == "stream.tensor.export")
    return sum(-(-(constant_index(op.operands[-1]) or 0) // alignment) * alignment for op in exports)
