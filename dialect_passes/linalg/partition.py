"""Where concatenations lie under values, and pushing them down through what keeps them apart.

    op(concat(x_1 .. x_n))  =  concat(op(x_1) .. op(x_n))

for padding of other dimensions, for reshapes whose boundaries fit, and for element-wise ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from serenity_mlir.dialect_passes.linalg.quantization import producer, replace_op
from serenity_mlir.dialect_passes.linalg.slicing import (
    CARRIERS,
    CONCAT,
    Part,
    carried,
    concat,
    concat_dim,
    extent,
    groups,
    on_slices,
    source_dim,
)
from serenity_mlir.dialect_passes.linalg.structured import structured
from serenity_mlir.dialect_passes.mlir import ir


@dataclass(frozen=True, slots=True)
class Parts:
    """What a value is a concatenation of, along one of its dimensions.

    Attributes:
        sizes: Elements of each part along it, none of them 0; a single one where it cannot be parted.
        reason: Why it cannot be parted, or only more coarsely than it was concatenated; else None.
    """

    sizes: tuple[int, ...]
    reason: str | None = None

    @property
    def parted(self) -> bool:
        """Whether there are several parts."""
        return len(self.sizes) > 1


_FOLDED = "a reshape folds the concatenation's dimension with an outer one"
_POSITION = "an op between computes with the position along the concatenation"

Partition = dict[ir.Value, dict[int, Parts]]
"""For each value below a concatenation, by dimension, its parts."""


def partition(ops: Iterable[ir.Operation]) -> Partition:
    """The parts of the results of ops in program order; values of other ops are taken to be whole."""
    found: Partition = {}
    for op in ops:
        if len(op.results) == 1:
            parts = _parts(op, found)
            if parts:
                found[op.results[0]] = parts
    return found


def _parts(op: ir.Operation, found: Partition) -> dict[int, Parts]:
    if op.name == CONCAT:
        dim = concat_dim(op)
        return {dim: _of_concat(op, dim, found)}
    if op.name in CARRIERS:
        above = found.get(op.operands[0])
        return _of_carrier(op, above) if above else {}
    if not any(operand in found for operand in op.operands):
        return {}
    return _of_elementwise(op, found)


def _of_concat(op: ir.Operation, dim: int, found: Partition) -> Parts:
    sizes: list[int] = []
    for operand in op.operands:
        size = extent(operand, dim)
        if size is None:
            return Parts((), f"the sizes that are concatenated along dimension {dim} are not constant")
        inner = producer(operand)
        nested = inner is not None and inner.name == CONCAT and concat_dim(inner) == dim
        parts = found[operand][dim].sizes if nested and operand in found else ()
        sizes += parts or (size,)
    return Parts(tuple(size for size in sizes if size))


def _of_carrier(op: ir.Operation, above: dict[int, Parts]) -> dict[int, Parts]:
    result: dict[int, Parts] = {}
    for dim in range(ir.RankedTensorType(op.results[0].type).rank):
        source = source_dim(op, dim)
        if isinstance(source, str) or source.dim not in above:
            blocked = _blocked(op, dim, above)
            if blocked:
                against = source if isinstance(source, str) else _FOLDED
                result[dim] = Parts((), blocked.reason or against)
            continue
        parts = above[source.dim]
        coarse = _multiples(parts.sizes, source.up)
        reason = parts.reason
        if len(coarse) < len(parts.sizes):
            reason = f"a boundary lies inside a group of {source.up}"
        result[dim] = Parts(tuple(size // source.up * source.down for size in coarse), reason)
    return result


def _blocked(op: ir.Operation, dim: int, above: dict[int, Parts]) -> Parts | None:
    """The parts that `dim` of the result would have if the op let them through."""
    if op.name == "tensor.pad":
        return above.get(dim)
    if op.name == "tensor.collapse_shape":
        return next((above[item] for item in groups(op)[dim] if item in above), None)
    return above.get(next(outer for outer, group in enumerate(groups(op)) if dim in group))


def _multiples(sizes: Sequence[int], unit: int) -> tuple[int, ...]:
    """Neighbours merged until every size is a multiple of `unit`, as their sum is."""
    ends = [end for end in accumulate(sizes) if end % unit == 0]
    return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))


def _of_elementwise(op: ir.Operation, found: Partition) -> dict[int, Parts]:
    below = structured(op)
    result: dict[int, Parts] = {}
    if below is None or not below.elementwise:
        return result
    for index, operand in enumerate(op.operands):
        for dim, parts in found.get(operand, {}).items():
            loop = below.loop_at(index, dim)
            dims = None if loop is None else below.dims_of(loop)
            if loop is None or dims is None:
                continue
            fixed = below.reads_index(loop)
            at = dims[len(below.maps) - 1]
            if at not in result or (parts.parted and not result[at].parted):
                result[at] = Parts((), _POSITION) if fixed else parts
    return result


def sink(value: ir.Value, dim: int) -> ir.Value:
    """Make `value` a concatenation along `dim`, for all its uses, and return it as that.

    The ops between are replaced by one for each part; nothing is computed twice.

    Raises:
        ValueError: It has no parts along `dim`, by `partition`.
    """
    found = partition(_above(value))
    path: list[tuple[ir.Operation, int]] = []
    op, at = producer(value), dim
    while op is not None and op.name != CONCAT:
        parts = found.get(op.results[0], {}).get(at)
        if parts is None or not parts.parted:
            break
        path.append((op, at))
        source, at = _source(op, at, found)
        op = producer(source)
    if op is None or op.name != CONCAT or concat_dim(op) != at:
        raise ValueError(f"{value} is no concatenation along dimension {dim}")
    result: ir.Value = op.results[0]
    for item, at in reversed(path):
        result = _replace(item, at, found[item.results[0]][at].sizes)
    return result


def _above(value: ir.Value) -> list[ir.Operation]:
    """The ops between `value` and the concatenations above it, those included, sources first."""
    ordered: dict[ir.Operation, None] = {}
    stack = [(value, False)]
    while stack:
        item, done = stack.pop()
        op = producer(item)
        if op is None or op in ordered:
            continue
        if done:
            ordered[op] = None
        elif op.name == CONCAT or op.name in CARRIERS or _is_elementwise(op):
            stack.append((item, True))
            stack += [(operand, False) for operand in op.operands]
    return list(ordered)


def _is_elementwise(op: ir.Operation) -> bool:
    found = structured(op)
    return found is not None and found.elementwise


def _source(op: ir.Operation, dim: int, found: Partition) -> tuple[ir.Value, int]:
    """The operand of a parted op, and its dimension, that the parts come from."""
    if op.name in CARRIERS:
        source = source_dim(op, dim)
        assert not isinstance(source, str), "what has parts has a source"  # noqa: S101
        return op.operands[0], source.dim
    below = structured(op)
    assert below is not None, "all that carries parts is a carrier or structured"  # noqa: S101
    loop = below.loop_at(len(below.maps) - 1, dim)
    return next(
        (operand, at)
        for index, operand in enumerate(op.operands)
        for at, parts in found.get(operand, {}).items()
        if parts.parted and below.loop_at(index, at) == loop
    )


def _replace(op: ir.Operation, dim: int, sizes: Sequence[int]) -> ir.Value:
    """The op as a concatenation of itself on parts."""
    below = structured(op)
    made = []
    with op.location:
        for offset, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
            part = Part(dim, offset, size)
            value = carried(op, part, op) if below is None else on_slices(below, part, op)
            if value is None:
                raise ValueError(f"{op.name} has no slice along dimension {dim}")
            made.append(value)
        joined = concat(made, dim, op)
    replace_op(op, [joined])
    return joined
