"""What each dispatch of a module computes, reads and stores, read off its `flow` phase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from serenity_mlir.dialect_passes.linalg.quantization import producer
from serenity_mlir.dialect_passes.linalg.structured import structured
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.node_names import node_names
from serenity_mlir.dialect_passes.stream.regions import functions
from serenity_mlir.dialect_passes.tensors.op_kinds import destinations, nested_ops
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

Padding = Literal["copy", "interior", "read"]

_DISPATCH = "flow.dispatch"
_LOAD, _STORE = "iree_tensor_ext.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.store"
_CONSTANTS = frozenset({"util.global.load", "arith.constant", "flow.tensor.constant"})
_VIEWS = frozenset({"flow.tensor.reshape", "flow.tensor.bitcast"})
# Hand on what was computed elsewhere, or nothing.
_NO_WORK = frozenset(
    f"arith.constant linalg.fill {_LOAD} tensor.cast tensor.collapse_shape tensor.empty tensor.expand_shape "
    "tensor.extract_slice tensor.insert_slice".split()
)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One dispatch.

    Attributes:
        name: The function that runs.
        nodes: The model's nodes that it came from.
        fused: What it computes, in order: kinds of ops with those of the nodes; empty for a mere copy. The
            nodes are left out where the function was made for another dispatch.
        sources: The dispatches that it reads results of, as positions in the list of all.
        read: Bytes of the tensors that it reads, constants left out; None where a size is no constant.
        constants: Bytes of the constants that it reads.
        stored: Bytes of the tensors that its results lie in, padding and other parts included.
        padding: How what it reads was padded, each way once: copied into the padded tensor, written into
            its interior by what computed it, or not stored padded but guarded when read.
        in_place: Whether a result overwrites an operand that it reads and nothing reads later.
    """

    name: str
    nodes: tuple[str, ...]
    fused: tuple[str, ...]
    sources: tuple[int, ...]
    read: int | None
    constants: int | None
    stored: int | None
    padding: tuple[Padding, ...]
    in_place: bool


def dispatches(module: ir.Operation) -> list[Dispatch]:
    """The dispatches of a module's functions at the end of phase `flow`, in program order.

    Where each came from is known after `serenity-locate-dispatches`. What runs once, when the module is
    loaded, is left out.
    """
    bodies = _bodies(module)
    run = (function for _, function in functions(module) if function.name != "util.initializer")
    found = [op for function in run for op in nested_ops(function) if op.name == _DISPATCH]
    order = {op: number for number, op in enumerate(found)}
    return [_dispatch(op, bodies, order) for op in found]


Bodies = Mapping[str, ir.Operation]


def _bodies(module: ir.Operation) -> Bodies:
    """The functions in the module's executables, by `@executable::@function`."""
    found = {}
    for executable in module.regions[0].blocks[0]:
        if executable.operation.name != "flow.executable":
            continue
        owner = ir.StringAttr(executable.operation.attributes["sym_name"]).value
        for op in nested_ops(executable.operation):
            if op.name == "func.func":
                found[f"{owner}::{ir.StringAttr(op.attributes['sym_name']).value}"] = op
    return found


def _dispatch(op: ir.Operation, bodies: Bodies, order: Mapping[ir.Operation, int]) -> Dispatch:
    body = _body(op, bodies)
    own = node_names(op.location)
    work = [] if body is None else list(_work(body))
    operands = list(_tensors(op))
    constants = [index for index in operands if _is_constant(op.operands[index])]
    read = [index for index in operands if index not in constants and _reads(body, op, index)]
    ties = [tie for tie in destinations(op) if tie is not None]
    return Dispatch(
        name=_symbol(op)[-1],
        nodes=tuple(own),
        fused=tuple(_described(inner, own) for inner in work),
        sources=tuple(dict.fromkeys(_sources((op.operands[index] for index in read), order))),
        read=_sum(op.operands[index] for index in read),
        constants=_sum(op.operands[index] for index in constants),
        stored=_sum(op.results),
        padding=tuple(dict.fromkeys(_paddings(op, read, work, bodies))),
        in_place=any(tie in read and not _read_later(op, tie) for tie in ties),
    )


def _symbol(op: ir.Operation) -> list[str]:
    return [str(part) for part in ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0]).value]


def _body(op: ir.Operation, bodies: Bodies) -> ir.Operation | None:
    """The function that a dispatch runs; None where it is not in the module."""
    return bodies.get("::".join(_symbol(op)))


def _work(body: ir.Operation) -> Iterator[ir.Operation]:
    """The ops of a function that compute tensors."""
    for op in body.regions[0].blocks[0].operations:
        made = any(isinstance(result.type, ir.ShapedType) for result in op.operation.results)
        if made and op.operation.name not in _NO_WORK:
            yield op.operation


def _described(op: ir.Operation, own: list[str]) -> str:
    found = structured(op)
    reduces = found is not None and any(map(found.is_reduction, range(found.loops)))
    kind = f"{op.name} (reduction)" if op.name == "linalg.generic" and reduces else str(op.name)
    nodes = [name for name in node_names(op.location) if name in own]
    return f"{kind} [{', '.join(nodes)}]" if nodes else kind


def _tensors(op: ir.Operation) -> Iterator[int]:
    """The operands of a dispatch that are tensors."""
    yield from (index for index, value in enumerate(op.operands) if isinstance(value.type, ir.ShapedType))


def _is_constant(value: ir.Value) -> bool:
    made = producer(_seen(value))
    return made is not None and made.name in _CONSTANTS


def _seen(value: ir.Value) -> ir.Value:
    """The value that a view is of."""
    made = producer(value)
    return _seen(made.operands[0]) if made is not None and made.name in _VIEWS else value


def _sources(values: Iterable[ir.Value], order: Mapping[ir.Operation, int]) -> Iterator[int]:
    for value in values:
        made = producer(_seen(value))
        if made is not None and made in order:
            yield order[made]


def _uses(body: ir.Operation, op: ir.Operation, operand: int) -> Iterator[ir.Operation]:
    workload = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0]
    argument = body.regions[0].blocks[0].arguments[operand - workload]
    yield from (use.owner.operation for use in argument.uses)


def _reads(body: ir.Operation | None, op: ir.Operation, operand: int) -> bool:
    """Whether a dispatch reads an operand, not only writes into it; taken to be so where nothing shows it."""
    return body is None or any(user.name != _STORE for user in _uses(body, op, operand))


def _sum(values: Iterable[ir.Value]) -> int | None:
    sizes = [tensor_bytes(value.type) for value in values]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _read_later(op: ir.Operation, operand: int) -> bool:
    """Whether anything after a dispatch, in its block or outside of it, uses an operand or a view of it."""
    order = {inner.operation: step for step, inner in enumerate(op.block.operations)}
    return any(user not in order or order[user] > order[op] for user in _readers(_seen(op.operands[operand])))


def _readers(value: ir.Value) -> Iterator[ir.Operation]:
    for use in value.uses:
        user = use.owner.operation
        if user.name in _VIEWS:
            yield from _readers(user.results[0])
        else:
            yield user


def _paddings(
    op: ir.Operation, read: list[int], work: list[ir.Operation], bodies: Bodies
) -> Iterator[Padding]:
    for index in read:
        way = _stored_padded(_seen(op.operands[index]), bodies)
        if way is not None:
            yield way
    for inner in work:
        if not _only_stored(inner) if inner.name == "tensor.pad" else _guards(inner):
            yield "read"


def _stored_padded(value: ir.Value, bodies: Bodies) -> Padding | None:
    """How a tensor got its padding; None where nothing says that it has any."""
    made = producer(value)
    if made is not None and made.name == "flow.tensor.update":
        return "copy" if _is_filled(made.operands[0]) else None
    body = _body(made, bodies) if made is not None and made.name == _DISPATCH else None
    if made is None or body is None:
        return None
    work = list(_work(body))
    tie = destinations(made)[0] if len(made.results) == 1 else None
    if tie is not None and _reads(body, made, tie):  # written over what was there, padding included
        return _stored_padded(_seen(made.operands[tie]), bodies)
    pads = [op for op in work if op.name == "tensor.pad" and _only_stored(op)]
    if not pads and (tie is None or not _is_filled(made.operands[tie])):
        return None
    return "interior" if len(work) > len(pads) else "copy"


def _is_filled(value: ir.Value) -> bool:
    made = producer(_seen(value))
    return made is not None and made.name == "flow.tensor.splat"


def _only_stored(op: ir.Operation) -> bool:
    return all(use.owner.name == _STORE for use in op.results[0].uses)


def _guards(op: ir.Operation) -> bool:
    """Whether a structured op looks whether what it reads is inside of a tensor."""
    return op.name.startswith("linalg.") and any(
        inner.name == "scf.if" and any(part.name == "tensor.extract" for part in nested_ops(inner))
        for inner in nested_ops(op)
    )
