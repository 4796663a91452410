"""One structured op on a concatenation as several, one on each part.

    sum over c of f(concat(x_i), w)  =  out + f(x_1, w_1) + .. + f(x_n, w_n)        a loop that is reduced
    g(concat(x_i), w)                =  concat(g(x_1, w_1) .. g(x_n, w_n))          a loop that is not

(SERENITY, MLSys 2020, section 3.3: channel-wise and kernel-wise partitioning.) In the first
line each partial op accumulates into the result of the one before it, so the sum takes no
buffer of its own, and what it starts from (a bias) counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from serenity_mlir.dialect_passes.linalg.partition import Partition, partition, sink
from serenity_mlir.dialect_passes.linalg.quantization import DEQUANTIZE, producer, replace_op
from serenity_mlir.dialect_passes.linalg.slicing import (
    CARRIERS,
    CONCAT,
    Part,
    concat,
    created,
    dynamic_sizes,
    on_slices,
    slice_value,
)
from serenity_mlir.dialect_passes.linalg.structured import Structured, on_operands, structured
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops


@dataclass(frozen=True)
class Split:
    """A loop of an op along which one of its operands is a concatenation.

    Attributes:
        op: The op.
        operand: Position of the operand.
        dim: The dimension along which it has parts.
        loop: The loop that indexes it.
        sizes: Elements of each part.
    """

    op: Structured
    operand: int
    dim: int
    loop: int
    sizes: tuple[int, ...]

    @property
    def reduces(self) -> bool:
        """Whether the partial results are summed, rather than concatenated."""
        return self.op.is_reduction(self.loop)

    @property
    def exact(self) -> bool:
        """Whether the result is the same to the bit: sums of floats are not, in another order."""
        return not self.reduces or self.op.sum_op == "arith.addi"

    def apply(self) -> None:
        """Replace the op by the partial ones."""
        op = self.op.op
        with op.location:
            sink(op.operands[self.operand], self.dim)
            replace_op(op, [split(self.op, self.loop, self.sizes)])


@dataclass(frozen=True)
class NoSplit:
    """An op under a concatenation that cannot be split along it, and why."""

    op: Structured
    reason: str


def splits(module: ir.Operation) -> Iterator[Split | NoSplit]:
    """What is found under concatenations, of ops that reduce: convolutions, matrix products, pools."""
    ops = list(nested_ops(module))
    found = partition(ops)
    for op in ops:
        if not any(operand in found for operand in op.operands):
            continue
        reducing = structured(op)
        if reducing is not None and not reducing.elementwise:
            answer = _split(reducing, found)
            if answer is not None:
                yield answer


def _split(op: Structured, found: Partition) -> Split | NoSplit | None:
    """The first split that is right, else the first reason against one."""
    reason = None
    for operand, value in enumerate(list(op.op.operands)[:-1]):
        for dim, parts in sorted(found.get(value, {}).items()):
            against = _reason(op, operand, dim) or parts.reason
            loop = op.loop_at(operand, dim)
            if parts.parted and loop is not None and _reason(op, operand, dim) is None:
                return Split(op, operand, dim, loop, parts.sizes)
            reason = reason or against
    return NoSplit(op, reason) if reason else None


def _reason(op: Structured, operand: int, dim: int) -> str | None:
    """Why the op cannot be split along a dimension of an operand; None where it can."""
    where = f"the concatenation is along dimension {dim}"
    loop = op.loop_at(operand, dim)
    dims = None if loop is None else op.dims_of(loop)
    if loop is None or dims is None:
        return f"{where}, over which a window slides"
    if op.reads_index(loop):
        return "its body computes with the position along the concatenation"
    if op.is_reduction(loop):
        return _reason_against_sum(op, where)
    if any(index not in dims and op.reads(index) for index in range(len(op.maps))):
        return f"{where}, which another operand does not have"
    return None


def _reason_against_sum(op: Structured, where: str) -> str | None:
    if op.sum_op is None:
        return f"{where}, which it reduces by something else than a sum"
    read = [value for index, value in enumerate(list(op.op.operands)[:-1]) if op.reads(index)]
    if all(_dequantised(value) for value in read):
        # IREE turns it into integer arithmetic only where the output starts at zero, which those of a chain
        # do not: weights would be stored as floats.
        return "all that it multiplies is dequantised, and IREE sums that in integers only as a whole"
    return None


def _dequantised(value: ir.Value) -> bool:
    """Whether any of what is moved to where `value` reads it is dequantised."""
    seen, stack = set(), [producer(value)]
    while stack:
        op = stack.pop()
        if op is None or op in seen:
            continue
        if op.name == DEQUANTIZE:
            return True
        seen.add(op)
        if op.name == CONCAT or op.name in CARRIERS:
            stack += map(producer, op.operands)
    return False


def split(op: Structured, loop: int, sizes: Sequence[int]) -> ir.Value:
    """The op as partial ops along a loop, right before it: a chain of sums, or a concatenation.

    Args:
        op: Where `loop` is a reduction, its body adds to its output.
        loop: Indexes dimensions alone, not windows; the body does not read it.
        sizes: Of the parts; they sum to the loop's length.
    """
    parts = list(zip(accumulate(sizes, initial=0), sizes, strict=False))
    dims = op.dims_of(loop)
    if dims is None:
        raise ValueError(f"loop {loop} of {op.op.name} indexes a window or a diagonal")
    before = op.op
    if not op.is_reduction(loop):
        dim = dims[len(op.maps) - 1]
        made = [on_slices(op, Part(dim, *part), before) for part in parts]
        return concat([value for value in made if value is not None], dim, before)
    *inputs, total = op.op.operands
    for number, part in enumerate(parts):
        taken = [
            slice_value(value, Part(dims[index], *part), before) if index in dims else value
            for index, value in enumerate(inputs)
        ]
        total = on_operands(op, [*taken, _kept(total, before) if number else total], before)
    return total


def _kept(total: ir.Value, before: ir.Operation) -> ir.Value:
    """A partial sum as what the next op accumulates into.

    Where the output that a convolution or product starts from is another linalg op's, IREE zeroes
    the output and adds that op's result afterwards, and then makes one sum of all such additions:
    every partial result would be live at once. Its barrier, which it drops before it forms
    dispatches, keeps it from doing so.
    """
    sizes = [size for _, size in dynamic_sizes(total, before)]
    return created("iree_tensor_ext.compute_barrier.start", total.type, [total, *sizes], {}, before)
