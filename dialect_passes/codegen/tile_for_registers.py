"""`serenity-tile-for-registers`: dispatches tiled for a core without vectors, whose registers hold a tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from typing import Annotated, ClassVar

from serenity_mlir.dialect_passes.codegen.lowering_config import (
    ATTRIBUTE,
    DISTRIBUTION,
    INNER,
    PARALLEL,
    REDUCTION,
    set_tiles,
    tiles,
)
from serenity_mlir.dialect_passes.codegen.share_guards import EXTRACT, shared_loops
from serenity_mlir.dialect_passes.linalg.reach import holds_floats
from serenity_mlir.dialect_passes.linalg.structured import Structured, structured
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

_LEVELS = {DISTRIBUTION, PARALLEL, REDUCTION, INNER}
_INPUT_AND_WEIGHTS = 2


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Results that one kind of reduction computes at once: rows (output channels) by columns.

    Attributes:
        rows: Of which each takes weights of its own.
        columns: Of which each takes inputs of its own.
        across: Most elements of a row of the window that one step of the sum takes.
    """

    rows: int
    columns: int
    across: int = 1


@dataclass(frozen=True, slots=True)
class _Tiles:
    """What is wanted for each kind of reduction.

    Attributes:
        product: A matrix product, or a convolution whose window is one element.
        registers: Of a convolution that IREE takes apart into rows: what sums, inputs and a weight may take.
        window: Any other.
        depthwise: Of which each output channel reads one channel.
        guarded: One that looks whether it is inside of what it reads; one row that shares no look.
        other: A pool, a mean.
    """

    product: _Wanted
    registers: int
    window: _Wanted
    depthwise: _Wanted
    guarded: _Wanted
    other: _Wanted


# Those of fewest instructions on the networks of benchmarks/firmware.py: docs/decisions/0106.
_INTEGERS = _Tiles(_Wanted(4, 1), 11, _Wanted(2, 1), _Wanted(1, 2), _Wanted(4, 1), _Wanted(1, 1))
_FLOATS = _Tiles(_Wanted(4, 4), 31, _Wanted(1, 1, 7), _Wanted(1, 8), _Wanted(8, 1), _Wanted(1, 4))

_LOOP = 4
"""Instructions of a step of the sum beside loads, multiplications and additions."""


@dataclass(frozen=True)
class TileForRegistersPass(Pass[int]):
    """Gives reductions the tiles that scalar registers hold, in one workgroup.

    Where a core has no vectors, IREE tiles for vectors of 16 bytes all the same, and unrolls each tile into
    scalars: of int8 that is up to 64 sums at once, which are spilled. Here a tile is a few results, and one
    step of the sum. A loop that nothing near the wanted size divides, and what IREE tiles on other levels,
    stays as IREE has it.

    Belongs after `executable-configurations`. Sums of integers stay bit-exact; floats may be summed in
    another order.
    """

    name: ClassVar[str] = "serenity-tile-for-registers"
    soft_floats: Annotated[bool, "floats are computed by functions, in the registers of integers"] = False

    def apply(self, module: ir.Operation) -> int:
        """Tile the functions of every dispatch; returns how many have other tiles now."""
        functions = [op for op in nested_ops(module) if op.name == "func.func"]
        return sum(_tile(function, soft_floats=self.soft_floats) for function in functions)


def _tile(function: ir.Operation, *, soft_floats: bool) -> bool:
    """Tile a dispatch; whether there was anything to."""
    ops: dict[ir.Operation, dict[str, list[int]]] = {}
    for op in nested_ops(function):
        if ATTRIBUTE in op.attributes:
            levels = tiles(op)
            if levels is None or set(levels) - _LEVELS:
                return False
            ops[op] = levels
    reductions = [op for op, levels in ops.items() if REDUCTION in levels]
    if len(reductions) > 1:  # a softmax: one element after the other
        for op, levels in ops.items():
            set_tiles(
                op, {level: [_single(level, size) for size in sizes] for level, sizes in levels.items()}
            )
        return True
    root = structured(reductions[0]) if reductions else None
    if root is None or set(ops[root.op]) != {DISTRIBUTION, PARALLEL, REDUCTION}:
        return False
    order = [root.loop_at(len(root.maps) - 1, dim) for dim in range(len(root.maps[-1]))]
    rest = {op: levels for op, levels in ops.items() if op != root.op}
    loops = [loop for loop in order if loop is not None]
    before = [ops[root.op][PARALLEL][loop] for loop in loops]
    # What is fused with the reduction is tiled like its result.
    if len(loops) != len(order) or any(levels != {PARALLEL: before} for levels in rest.values()):
        return False
    table = _FLOATS if holds_floats(root.op.operands[0]) and not soft_floats else _INTEGERS
    sizes = _sizes(root, _kind(root, function, table), loops)
    if sizes is None:
        return False
    parallel = [0 if root.is_reduction(loop) else sizes.get(loop, 0) for loop in range(root.loops)]
    steps = [sizes.get(loop, 1) if root.is_reduction(loop) else 0 for loop in range(root.loops)]
    set_tiles(root.op, {DISTRIBUTION: [0] * root.loops, PARALLEL: parallel, REDUCTION: steps})
    for op in rest:
        set_tiles(op, {PARALLEL: [sizes[loop] for loop in loops]})
    return True


def _single(level: str, size: int) -> int:
    return 0 if level == DISTRIBUTION else min(size, 1)


@dataclass(frozen=True, slots=True)
class _Across:
    """A loop over the window: its iterations, and how many of them a column is from the next."""

    loop: int
    size: int
    stride: int


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is wanted, and the loops that are its rows and columns, of which the last one is tiled.

    Attributes:
        wanted: Of the two.
        rows: Loops.
        columns: Loops.
        single: Whether one result at a time is better than what IREE has, where nothing near fits.
        across: Of which one step of the sum may take several elements.
    """

    wanted: _Wanted
    rows: Sequence[int]
    columns: Sequence[int]
    single: bool = False
    across: _Across | None = None


def _kind(root: Structured, function: ir.Operation, table: _Tiles) -> _Kind:
    parallel = [loop for loop in range(root.loops) if not root.is_reduction(loop) and root.extent(loop) != 1]
    extracts = [op for op in nested_ops(root.op) if op.name == EXTRACT]
    if len(extracts) == 1:
        rows = shared_loops(root, extracts[0])
        return _Kind(table.guarded, rows, [], single=True) if rows else _Kind(_Wanted(1, 1), [], [])
    read = [index for index in range(len(root.maps) - 1) if root.reads(index)]
    if len(read) != _INPUT_AND_WEIGHTS:
        return _Kind(table.other, [], parallel[-1:])
    rows = [loop for loop in parallel if not root.indexes(loop, read[0])]
    columns = [loop for loop in parallel if not root.indexes(loop, read[1])]
    if any(root.indexes(loop, read[0]) and root.indexes(loop, read[1]) for loop in parallel):
        return _Kind(table.depthwise, [], columns)
    if all(root.dims_of(loop) is not None for loop in range(root.loops) if root.is_reduction(loop)):
        return _Kind(table.product, rows, columns)
    across = _across(root, read[0], columns)
    if "ConvTileAndDecompose" not in str(function.attributes["translation_info"]):
        return _Kind(table.window, rows, columns, across=across)
    return _Kind(_fewest_loads(root, rows, columns, across, table.registers), rows, columns, across=across)


def _across(root: Structured, given: int, columns: Sequence[int]) -> _Across | None:
    """The loop over the window that the last of the columns slides along."""
    for dim in range(len(root.maps[given])):
        steps = root.steps(given, dim) or {}
        window = [loop for loop in steps if root.is_reduction(loop)]
        if columns and columns[-1] in steps and len(window) == 1:
            return _Across(window[0], root.extent(window[0]) or 1, steps[columns[-1]])
    return None


def _fewest_loads(
    root: Structured, rows: Sequence[int], columns: Sequence[int], across: _Across | None, registers: int
) -> _Wanted:
    """The tile of a convolution that takes the fewest instructions a multiplication, and fits registers.

    A step of the sum loads inputs once for all rows and columns of a tile, weights for all columns.
    """

    def inputs(tile: _Wanted) -> int:
        stride = across.stride if across is not None else 1
        return min(tile.columns * tile.across, (tile.columns - 1) * stride + tile.across)

    def cost(tile: _Wanted) -> float:
        loads = tile.rows * tile.across + inputs(tile)
        return (loads + _LOOP) / (tile.rows * tile.columns * tile.across)

    sizes = [_divisors((root.extent(loops[-1]) if loops else None) or 1) for loops in (rows, columns)]
    every = product(*sizes, _divisors(across.size if across is not None else 1))
    wanted = (_Wanted(*tile) for tile in every)
    return min(
        (tile for tile in wanted if tile.rows * tile.columns + inputs(tile) + 1 <= registers), key=cost
    )


def _divisors(size: int) -> list[int]:
    return [number for number in range(1, size + 1) if size % number == 0]


def _sizes(root: Structured, kind: _Kind, loops: Sequence[int]) -> dict[int, int] | None:
    """Each parallel loop's tile; None where a size is no constant, or no tile is near what is wanted."""
    sizes = dict.fromkeys(loops, 1)
    for chosen, wanted in ((kind.rows, kind.wanted.rows), (kind.columns, kind.wanted.columns)):
        if not chosen or wanted == 1:
            continue
        size = root.extent(chosen[-1])
        near = None if size is None else _near(size, wanted)
        if near is None and not kind.single:
            return None
        sizes[chosen[-1]] = near or 1
    if kind.across is not None:
        fitting = (size for size in _divisors(kind.across.size) if size <= kind.wanted.across)
        sizes[kind.across.loop] = max(fitting)
    return sizes


def _near(size: int, wanted: int) -> int | None:
    """The divisor of a size whose ratio to what is wanted is nearest to 1; None where it is below half."""
    near = (number for number in _divisors(size) if number <= 2 * wanted)
    best = min(near, key=lambda number: abs(log(number / wanted)))
    return best if 2 * best >= wanted or best == size else None
