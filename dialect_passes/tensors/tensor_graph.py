"""The memory graph of a function body on tensors: analysis only, nothing is changed.

Model: a result owns a buffer of its tensor's bytes, from the op that defines it to its last
reader. Views share their operand's buffer. A destination is overwritten in place where, in file
order, its op is the last reader of the old value; all earlier readers then come first in every
order, so it stays in place. Otherwise the op brings storage of its own. Arguments belong to the
caller and constants to the program: both cost nothing, and so does a splat that is only ever
overwritten. What is returned stays live to the end and counts. An op with regions uses what
they capture; what lives inside is not seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import (
    destinations,
    is_barrier,
    is_constant,
    is_free_splat,
    is_view,
    kind_name,
    nested_ops,
)
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes
from serenity_mlir.graph import Buffer, MemoryGraph, Op


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a function has no memory graph.

    Attributes:
        op: What it is about.
        reason: To be read after the function's name.
    """

    op: ir.Operation
    reason: str


@dataclass(frozen=True, slots=True)
class TensorGraph:
    """A function body as a memory graph.

    Attributes:
        graph: Without constants and without the terminator; sizes are not aligned.
        ops: The ops of `graph`, by index.
        constants: Ops that cost nothing, in file order.
        users: For each of `constants` the ops of `graph` that use it, ascending.
        terminator: The op that ends the body.
    """

    graph: MemoryGraph
    ops: tuple[ir.Operation, ...]
    constants: tuple[ir.Operation, ...]
    users: tuple[tuple[int, ...], ...]
    terminator: ir.Operation


def build_tensor_graph(function: ir.Operation) -> TensorGraph | Refusal:
    """The memory graph of `function`, a `func.func` or `util.func` with a body.

    Returns a refusal where the body has several blocks or a value without a constant size.
    The function's context must be the current one.
    """
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        return Refusal(function, f"its body has {len(blocks)} blocks")
    return _Builder(blocks[0]).build()


@dataclass(slots=True, eq=False)
class _Cell:
    """One value in storage: what an op wrote, until it is overwritten in place."""

    name: str
    size: int
    readers: list[int] = field(default_factory=list)
    returned: bool = False
    buffer: int = -1


class _Builder:
    def __init__(self, block: ir.Block) -> None:
        *body, self.terminator = (op.operation for op in block.operations)
        self.constants: list[ir.Operation] = []
        self.ops: list[ir.Operation] = []
        known: set[ir.Value] = set()
        for op in body:
            if is_constant(op) or (is_free_splat(op) and known.issuperset(op.operands)):
                self.constants.append(op)
                known.update(op.results)
            else:
                self.ops.append(op)
        self.definer: dict[ir.Value, int] = {}
        self.cells_of: dict[ir.Value, tuple[_Cell, ...]] = {}
        self.inputs: list[list[ir.Value]] = []
        self.outputs: list[list[_Cell | None]] = []

    def build(self) -> TensorGraph | Refusal:
        for index, op in enumerate(self.ops):
            self.inputs.append(_inputs(op))
            refusal = self._define(index, op)
            if refusal:
                return refusal
        for value in _inputs(self.terminator):
            for cell in self.cells_of.get(value, ()):
                cell.returned = True
        preds = self._precedence()
        buffers = self._allocate(preds)
        graph = MemoryGraph(
            ops=tuple(
                Op(f"{kind_name(op)}@{index}", *self._touches(index)) for index, op in enumerate(self.ops)
            ),
            buffers=tuple(buffers),
            preds=tuple(tuple(sorted(before)) for before in preds),
        )
        return TensorGraph(
            graph, tuple(self.ops), tuple(self.constants), self._constant_users(), self.terminator
        )

    def _define(self, index: int, op: ir.Operation) -> Refusal | None:
        for value in self.inputs[index]:
            for cell in self.cells_of.get(value, ()):
                if not cell.readers or cell.readers[-1] != index:
                    cell.readers.append(index)
        outputs: list[_Cell | None] = []
        view = is_view(op)
        for number, result in enumerate(op.results):
            self.definer[result] = index
            if view:
                self.cells_of[result] = _union(self.cells_of.get(value, ()) for value in self.inputs[index])
                continue
            size = tensor_bytes(result.type)
            if size is None:
                return Refusal(op, f"value {result.get_name()} of type {result.type} has no constant size")
            made = _Cell(f"{kind_name(op)}@{index}#{number}", size) if size else None
            outputs.append(made)
            self.cells_of[result] = (made,) if made else ()
        self.outputs.append(outputs)
        return None

    def _precedence(self) -> list[set[int]]:
        preds: list[set[int]] = []
        barrier = -1
        for index, op in enumerate(self.ops):
            before = {self.definer[value] for value in self.inputs[index] if value in self.definer}
            if is_barrier(op):
                before |= set(range(max(barrier, 0), index))
                barrier = index
            elif barrier >= 0:
                before.add(barrier)
            preds.append(before)
        return preds

    def _allocate(self, preds: list[set[int]]) -> list[Buffer]:
        sizes: list[Buffer] = []
        live_out: set[int] = set()
        for index, op in enumerate(self.ops):
            ties = destinations(op) if any(self.outputs[index]) else []
            for cell, tie in zip(self.outputs[index], ties, strict=False):
                if cell is None:
                    continue
                old = self._overwritten(index, op, cell, tie)
                if old:
                    cell.buffer = old.buffer
                    preds[index] |= set(old.readers) - {index}
                else:
                    cell.buffer = len(sizes)
                    sizes.append(Buffer(cell.name, cell.size))
                if cell.returned:
                    live_out.add(cell.buffer)
        return [
            Buffer(buffer.name, buffer.size, live_out=number in live_out)
            for number, buffer in enumerate(sizes)
        ]

    def _overwritten(self, index: int, op: ir.Operation, new: _Cell, tie: int | None) -> _Cell | None:
        """The cell that `new` replaces in place, if it may."""
        if tie is None:
            return None
        cells = self.cells_of.get(op.operands[tie], ())
        if len(cells) != 1:
            return None
        old = cells[0]
        uses = sum(old in self.cells_of.get(value, ()) for value in self.inputs[index])
        dies_here = old.readers[-1] == index and not old.returned
        return old if dies_here and uses == 1 and old.size == new.size else None

    def _touches(self, index: int) -> tuple[tuple[int, ...], frozenset[int]]:
        """The buffers that an op touches, and those of them that it changes in place."""
        read = [cell.buffer for value in self.inputs[index] for cell in self.cells_of.get(value, ())]
        written = [cell.buffer for cell in self.outputs[index] if cell]
        return tuple(dict.fromkeys((*read, *written))), frozenset(read).intersection(written)

    def _constant_users(self) -> tuple[tuple[int, ...], ...]:
        users: dict[ir.Value, set[int]] = {result: set() for op in self.constants for result in op.results}
        for index, values in enumerate(self.inputs):
            for value in values:
                if value in users:
                    users[value].add(index)
        for op in reversed(self.constants):  # what a splat is made of goes where the splat goes
            for value in op.operands:
                users[value].update(*(users[result] for result in op.results))
        return tuple(
            tuple(sorted(set().union(*(users[result] for result in op.results)))) for op in self.constants
        )


def _inputs(op: ir.Operation) -> list[ir.Value]:
    """Operands, with repetition, and what regions use; values from inside are harmless extras."""
    values = list(op.operands)
    for inner in nested_ops(op):
        values.extend(inner.operands)
    return values


def _union(groups: Iterable[tuple[_Cell, ...]]) -> tuple[_Cell, ...]:
    cells = {id(cell): cell for group in groups for cell in group}
    return tuple(cells.values())
