"""Which ops run in one dispatch: a reduction, what narrows its result, and what is cheap to compute again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cmp_to_key

from serenity_mlir.dialect_passes.linalg.quantization import producer, users
from serenity_mlir.dialect_passes.linalg.reach import of_constants
from serenity_mlir.dialect_passes.linalg.structured import structured
from serenity_mlir.dialect_passes.linalg.tensor_ops import padding
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.regions import functions
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

_FILL = "linalg.fill"
# Inits, and parts of tensors, which a dispatch reads where they are.
FREE = frozenset({_FILL, "tensor.empty", "tensor.extract_slice"})
_CALLERS = frozenset({"hal.tensor.import", "iree_tensor_ext.compute_barrier.start", "arith.constant"})


@dataclass(frozen=True, slots=True)
class Slice:
    """What runs in one dispatch.

    Attributes:
        root: The reduction.
        last: The op whose result is stored.
        ops: All in program order, root and last among them. Those that are not on the way from
            root to last may have other users, and stay for them.
        into: The pad in whose interior the result is stored, because nothing else reads it; None
            where there is none.
    """

    root: ir.Operation
    last: ir.Operation
    ops: tuple[ir.Operation, ...]
    into: ir.Operation | None


def reductions(module: ir.Operation) -> Iterator[ir.Operation]:
    """Reductions with one result that are in no dispatch yet, in program order."""
    for _, function in functions(module):
        if function.name == "util.initializer":
            continue
        for region in function.regions:
            for block in region.blocks:
                yield from (op.operation for op in block.operations if reduces(op.operation))


def slice_of(root: ir.Operation) -> Slice | str:
    """What runs with a reduction so that least is stored; why that is nothing more than itself."""
    if any(tensor_bytes(value.type) is None for value in (*root.operands, *root.results)):
        return "has sizes that are no constants"
    chain = _narrowing(root)
    if stored(chain[-1]) == stored(root):
        many = len(set(users(root))) > 1
        return "what it accumulates has several users" if many else "nothing after it stores less"
    return _slice(chain, chain)


def whole_slice(root: ir.Operation) -> Slice | None:
    """What runs with a reduction, be it nothing more than itself; None where it is none of constant sizes."""
    if not reduces(root) or any(
        tensor_bytes(value.type) is None for value in (*root.operands, *root.results)
    ):
        return None
    chain = _narrowing(root)
    return _slice(chain, chain)


def slice_with(root: ir.Operation, made: ir.Operation) -> Slice:
    """What runs with a reduction of constant sizes that reads what an op makes, if it is made there again."""
    chain = _narrowing(root)
    return _slice(chain, [*chain, made])


def _slice(chain: list[ir.Operation], ops: list[ir.Operation]) -> Slice:
    root, last = chain[0], chain[-1]
    inside = set(ops)
    for op in ops:
        for value in op.operands:
            _add_producers(value, inside)
    found = in_order([op for op in inside if op.block == root.block])
    return Slice(root, last, tuple(found), _only_pad(last))


def in_order(ops: Iterable[ir.Operation]) -> list[ir.Operation]:
    """Ops of one block as they stand in it."""

    def earlier(one: ir.Operation, two: ir.Operation) -> int:
        return -1 if one.is_before_in_block(two) else 1

    return sorted(ops, key=cmp_to_key(earlier))


def _narrowing(root: ir.Operation) -> list[ir.Operation]:
    """A reduction and its element-wise successors, up to the last that stores least."""
    chain, end = [root], 1
    least = stored(root)
    while (user := _only_user(chain[-1])) is not None and is_elementwise(user):
        chain.append(user)
        if stored(user) <= least:
            end, least = len(chain), stored(user)
    return chain[:end]


def stored(op: ir.Operation) -> int:
    """Bytes of an op's one result, which has a constant size."""
    size = tensor_bytes(op.results[0].type)
    if size is None:
        raise ValueError(f"no constant size: {op.name}")
    return size


def _only_user(op: ir.Operation) -> ir.Operation | None:
    """The one op of the same block that uses a result; None where there are others or none."""
    found = set(users(op))
    if len(found) != 1:
        return None
    (user,) = found
    return user if user.block == op.block else None


def _only_pad(op: ir.Operation) -> ir.Operation | None:
    user = _only_user(op)
    return user if user is not None and pads_constant(user) else None


def is_callers(op: ir.Operation) -> bool:
    """Whether an op only hands on a tensor that the function's caller, or the model's file, stores."""
    return op.name in _CALLERS


def pads_constant(op: ir.Operation) -> bool:
    """Whether an op is a pad of constant sizes by one constant."""
    if op.name != "tensor.pad" or len(op.operands) > 1 or tensor_bytes(op.results[0].type) is None:
        return False
    written = producer(padding(op))
    return written is not None and written.name == "arith.constant"


def reduces(op: ir.Operation) -> bool:
    """Whether an op is a structured one that reduces over a loop."""
    found = structured(op)
    return found is not None and any(found.is_reduction(loop) for loop in range(found.loops))


def is_elementwise(op: ir.Operation) -> bool:
    """Whether an op computes each element of one constant-sized tensor from one of each operand."""
    found = structured(op)
    return (
        found is not None
        and op.name != _FILL
        and found.elementwise
        and tensor_bytes(op.results[0].type) is not None
        and not any(inner.name == "tensor.extract" for inner in nested_ops(op))
    )


def _add_producers(value: ir.Value, inside: set[ir.Operation]) -> None:
    """Take in inits, parts, and what reads less than it makes: cheaper to compute again than to read."""
    op = producer(value)
    if op is None or op in inside:
        return
    if op.name in FREE or (is_elementwise(op) and _is_cheaper(op)):
        inside.add(op)
        for operand in op.operands:
            _add_producers(operand, inside)


def _is_cheaper(op: ir.Operation) -> bool:
    """Whether an op is cheaper to compute again than to read: a bias, too, that is spread to one position.

    What is made of constants outside of a dispatch IREE would make when the program is loaded.
    """
    return read_by(op) < stored(op) or (read_by(op) == stored(op) and of_constants(op))


def read_by(op: ir.Operation) -> int:
    """Bytes of the tensors that an element-wise op reads; its init is none."""
    return sum(tensor_bytes(value.type) or 0 for value in list(op.operands)[:-1])
