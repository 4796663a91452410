"""Structured ops: their loops, and what their bodies do with them.

A structured op runs its body once for each point of a space of loops, and an affine map says
for each operand which element it reads or writes there. All that a rewrite wants to know of
convolutions, matrix products, pools and element-wise ops, of any rank and layout, is in
those maps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import indexing_maps, ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

_AFFINE_QUANTISATION = frozenset({"iree_linalg_ext.dequantize_affine", "iree_linalg_ext.quantize_affine"})
_SUMS = frozenset({"arith.addf", "arith.addi"})


@dataclass(frozen=True)
class Structured:
    """A structured op on tensors with one result, whose last operand is what it writes into.

    Attributes:
        op: The op.
        maps: For each operand, the index expression of each of its dimensions.
        loops: How many loops there are.
    """

    op: ir.Operation
    maps: tuple[tuple[ir.AffineExpr, ...], ...]
    loops: int

    def loop_at(self, operand: int, dim: int) -> int | None:
        """The loop that alone indexes a dimension of an operand; None where none does."""
        return _dim_of(self.maps[operand][dim])

    def dims_of(self, loop: int) -> dict[int, int] | None:
        """The dimension of each operand that a loop indexes; operands that it does not are left out.

        None where the loop stands in a sum (a window) or twice in one map (a diagonal).
        """
        found: dict[int, int] = {}
        for operand, exprs in enumerate(self.maps):
            for dim, expr in enumerate(exprs):
                if loop not in dims_in(expr):
                    continue
                if _dim_of(expr) is None or operand in found:
                    return None
                found[operand] = dim
        return found

    def extent(self, loop: int) -> int | None:
        """Iterations of a loop; None where they are no constant, or no operand tells."""
        for operand, exprs in enumerate(self.maps):
            shaped = ir.ShapedType(self.op.operands[operand].type) if exprs else None
            for dim in range(len(exprs)):
                if shaped is not None and self.loop_at(operand, dim) == loop:
                    return None if shaped.is_dynamic_dim(dim) else int(shaped.get_dim_size(dim))
        return None

    def steps(self, operand: int, dim: int) -> dict[int, int] | None:
        """By how much a step of each loop moves the index of an operand's dimension.

        None where the index is no sum of positive multiples of loops.
        """
        return _steps(self.maps[operand][dim])

    def indexes(self, loop: int, operand: int) -> bool:
        """Whether what is read or written of an operand depends on a loop."""
        return any(loop in dims_in(expr) for expr in self.maps[operand])

    def is_reduction(self, loop: int) -> bool:
        """Whether the op reduces over a loop: nothing that it writes is indexed by it."""
        return not self.indexes(loop, len(self.maps) - 1)

    @property
    def channelwise(self) -> bool:
        """Whether a loop over more than one element indexes the result and all that it is computed of."""
        result = ir.RankedTensorType(self.op.results[0].type)
        read = {index for index in range(len(self.maps)) if self.reads(index)}
        for loop in range(self.loops):
            dims = None if self.is_reduction(loop) else self.dims_of(loop)
            if dims and read <= set(dims):
                dim = dims[len(self.maps) - 1]
                if result.is_dynamic_dim(dim) or result.get_dim_size(dim) > 1:
                    return True
        return False

    @property
    def elementwise(self) -> bool:
        """Whether each element of the result is computed once, of one element of each operand."""
        return not any(self.is_reduction(loop) for loop in range(self.loops)) and all(
            len(dims_in(expr)) <= 1 for exprs in self.maps for expr in exprs
        )

    def reads_index(self, loop: int) -> bool:
        """Whether the body computes with the position along a loop."""
        return any(
            inner.name == "linalg.index" and ir.IntegerAttr(inner.attributes["dim"]).value == loop
            for inner in nested_ops(self.op)
        )

    def reads(self, operand: int) -> bool:
        """Whether the body reads elements of an operand: none of a pool's window, and none of a scalar."""
        if not self.maps[operand]:
            return False
        if not len(self.op.regions):
            return True
        return _used(self.op.regions[0].blocks[0].arguments[operand])

    @property
    def sum_op(self) -> str | None:
        """The op by which the body adds to what is there, `out + …`; None where it does otherwise."""
        if not len(self.op.regions):
            return None
        block = self.op.regions[0].blocks[0]
        accumulator = block.arguments[len(self.maps) - 1]
        yielded = list(block.operations)[-1].operation.operands
        total = yielded[0].owner
        if len(yielded) != 1 or isinstance(total, ir.Block) or total.name not in _SUMS:
            return None
        once = sum(1 for _ in accumulator.uses) == 1 and accumulator in list(total.operands)
        return str(total.name) if once else None


def structured(op: ir.Operation) -> Structured | None:
    """`op` as a structured op; None where it is none, or has several results or a buffer for one."""
    if len(op.results) != 1:
        return None
    if op.name.startswith("linalg."):
        maps = indexing_maps(op)
    elif op.name in _AFFINE_QUANTISATION:
        maps = [item.value for item in op.attributes["indexing_maps"]]
    else:
        return None
    if maps is None or len(maps) != len(op.operands):
        return None
    return Structured(op, tuple(tuple(item.results) for item in maps), maps[0].n_dims)


def on_operands(op: Structured, operands: list[ir.Value], before: ir.Operation) -> ir.Value:
    """The op once more on other operands, right before `before`; the last one gives the result's type."""
    made = op.op.clone(ip=ir.InsertionPoint(before))
    for index, operand in enumerate(operands):
        made.operands[index] = operand
    made.results[0].set_type(operands[-1].type)
    result: ir.Value = made.results[0]
    return result


def _used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


def _dim_of(expr: ir.AffineExpr) -> int | None:
    return int(expr.position) if isinstance(expr, ir.AffineDimExpr) else None


def dims_in(expr: ir.AffineExpr) -> set[int]:
    """The dimensions, loops for an op's maps, that an index expression depends on."""
    return set(_each_dim(expr))


def _each_dim(expr: ir.AffineExpr) -> Iterator[int]:
    if isinstance(expr, ir.AffineDimExpr):
        yield expr.position
    elif isinstance(expr, ir.AffineBinaryExpr):
        yield from _each_dim(expr.lhs)
        yield from _each_dim(expr.rhs)


def _steps(expr: ir.AffineExpr) -> dict[int, int] | None:
    """Multiples have the constant on the right, and a constant 0 stands for a dimension of one element."""
    if isinstance(expr, ir.AffineDimExpr):
        return {int(expr.position): 1}
    if isinstance(expr, ir.AffineConstantExpr):
        return None if expr.value else {}
    if isinstance(expr, ir.AffineMulExpr) and isinstance(expr.rhs, ir.AffineConstantExpr):
        found = _steps(expr.lhs)
        usable = found is not None and expr.rhs.value > 0
        return {loop: step * expr.rhs.value for loop, step in (found or {}).items()} if usable else None
    if isinstance(expr, ir.AffineAddExpr):
        left, right = _steps(expr.lhs), _steps(expr.rhs)
        if left is None or right is None:
            return None
        return {loop: left.get(loop, 0) + right.get(loop, 0) for loop in (*left, *right)}
    return None
