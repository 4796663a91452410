"""The memory graph: ops, the buffers that they touch, and the orders that are legal.

A buffer is live from the first op that touches it to the last. Results tied to an
operand share its buffer, so in-place updates need no special case here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Buffer:
    """Storage of one or more tied values.

    Attributes:
        name: What people call it.
        size: Bytes, already rounded up to the allocator's alignment; 0 for storage that
            somebody else owns (inputs, outputs, constants).
        live_in: Whether it holds data before the first op runs.
        live_out: Whether it must survive the last op.
    """

    name: str
    size: int
    live_in: bool = False
    live_out: bool = False


@dataclass(frozen=True, slots=True)
class Op:
    """One step of a schedule.

    Attributes:
        name: What people call it.
        touches: Indices of the buffers that must exist while it runs, without repetition.
        updates: Those of `touches` that it changes in place, after another op made them. They
            matter for off-chip traffic only; precedence is in `MemoryGraph.preds`.
    """

    name: str
    touches: tuple[int, ...]
    updates: frozenset[int] = frozenset()


@dataclass(frozen=True)
class MemoryGraph:
    """Ops in file order, which is always a legal order.

    Attributes:
        ops: In file order.
        buffers: Everything that ops touch.
        preds: For each op the indices of the ops that must run before it, without
            repetition; all smaller than its own index.

    Raises:
        ValueError: An index is out of range, repeated, or a predecessor comes later; or an op
            updates what it does not touch.
    """

    ops: tuple[Op, ...]
    buffers: tuple[Buffer, ...]
    preds: tuple[tuple[int, ...], ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.preds) != len(self.ops):
            raise ValueError(f"{len(self.ops)} ops but {len(self.preds)} lists of predecessors")
        for buffer in self.buffers:
            if buffer.size < 0:
                raise ValueError(f"buffer {buffer.name!r} has size {buffer.size}")
        for index, (op, preds) in enumerate(zip(self.ops, self.preds, strict=True)):
            _check_indices(op.name, "buffer", op.touches, len(self.buffers))
            if not op.updates.issubset(op.touches):
                raise ValueError(f"op {op.name!r} updates buffers that it does not touch")
            _check_indices(op.name, "predecessor", preds, index)

    @cached_property
    def succs(self) -> tuple[tuple[int, ...], ...]:
        """For each op the ops that name it as a predecessor, ascending."""
        out: list[list[int]] = [[] for _ in self.ops]
        for index, preds in enumerate(self.preds):
            for pred in preds:
                out[pred].append(index)
        return tuple(tuple(succs) for succs in out)

    @property
    def file_order(self) -> tuple[int, ...]:
        """The order in which the ops are stored."""
        return tuple(range(len(self.ops)))

    def is_legal(self, order: Sequence[int]) -> bool:
        """Whether `order` is a permutation of the ops in which every predecessor comes first."""
        if sorted(order) != list(range(len(self.ops))):
            return False
        position = {op: step for step, op in enumerate(order)}
        return all(position[pred] < position[op] for op, preds in enumerate(self.preds) for pred in preds)


def _check_indices(op: str, what: str, indices: Iterable[int], bound: int) -> None:
    seen: set[int] = set()
    for index in indices:
        if not 0 <= index < bound:
            raise ValueError(f"op {op!r}: {what} {index} is not in 0..{bound - 1}")
        if index in seen:
            raise ValueError(f"op {op!r}: {what} {index} is repeated")
        seen.add(index)
