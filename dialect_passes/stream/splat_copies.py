"""Splats that several ops use, and the fills that can stand in their place, to try and to undo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import access_of, constant_index, lifetime

_SPLAT, _CLONE = "stream.async.splat", "stream.async.clone"


@dataclass
class SharedSplat:
    """One splat, and for each op that uses it the fill that it uses now.

    Attributes:
        splat: The op.
        consumers: The ops that use its result, in program order, clones of it left out.
        writer: The one of them that writes it in place, always the last; None where all only read.
        clones: Copies of it, which might be fills.
        fills: Of each consumer, by its index, once separated. (No dictionary: the hash of an op
            is that of its operands, which change here.)
    """

    splat: ir.Operation
    consumers: list[ir.Operation]
    writer: ir.Operation | None
    clones: list[ir.Operation]
    fills: list[ir.Operation] = field(default_factory=list)
    _folded: list[tuple[ir.Operation, ir.Operation]] = field(default_factory=list)
    _next: ir.Operation | None = None

    def separate(self) -> None:
        """Give each consumer a fill of its own, right before it, and make a fill of each clone."""
        keeper = self.writer or next(iter(self.consumers), None)
        for consumer in self.consumers:
            fill = self.splat if consumer == keeper else self.splat.clone(ir.InsertionPoint(consumer))
            self.fills.append(fill)
            _use(consumer, self.splat.results[0], fill.results[0])
        for clone in self.clones:
            fill = _fill_like(self.splat, clone)
            clone.results[0].replace_all_uses_with(fill.results[0])
            clone.detach_from_parent()
            self._folded.append((clone, fill))
        if keeper is None:
            block = self.splat.block
            following = [op.operation for op in block.operations]
            self._next = following[following.index(self.splat) + 1]
            self.splat.detach_from_parent()

    def undo(self) -> None:
        """Put everything back as it was; splats separated later must be back already."""
        if self._next is not None:
            ir.InsertionPoint(self._next).insert(self.splat)
        for clone, fill in self._folded:
            ir.InsertionPoint(fill).insert(clone)
            fill.results[0].replace_all_uses_with(clone.results[0])
            fill.erase()
        for consumer, fill in zip(self.consumers, self.fills, strict=True):
            if fill != self.splat:
                _use(consumer, fill.results[0], self.splat.results[0])
                fill.erase()

    def share(self, later: int, earlier: int) -> None:
        """Let consumer `later` use the fill of `earlier`, which runs before it."""
        unused = self.fills[later]
        _use(self.consumers[later], unused.results[0], self.fills[earlier].results[0])
        self.fills[later] = self.fills[earlier]
        unused.erase()

    def settle(self) -> None:
        """Drop what would be needed to undo."""
        for clone, _ in self._folded:
            clone.erase()
        if self._next is not None:
            self.splat.erase()


def shared_splats(execute: ir.Operation) -> Iterator[SharedSplat]:
    """The splats of a body that more ops than one use or some op clones.

    Left out are those that leave the body, that are used behind a barrier, that two ops write,
    and those that somebody reads by their first name after they were written.
    """
    block = execute.regions[0].blocks[0]
    ops = [item.operation for item in block.operations]
    position = {op: index for index, op in enumerate(ops)}
    for splat in ops:
        if splat.name != _SPLAT or lifetime(splat.results[0]) != "transient":
            continue
        users = {use.owner.operation for use in splat.results[0].uses}
        if users <= position.keys() and ops[-1] not in users:
            found = _shared(splat, sorted(users, key=position.__getitem__))
            if found is not None:
                yield found


def _shared(splat: ir.Operation, users: list[ir.Operation]) -> SharedSplat | None:
    accesses = [access_of(op) for op in users]
    value = splat.results[0]
    writers = [
        op
        for op, access in zip(users, accesses, strict=True)
        if any(item.tied is not None and op.operands[item.tied] == value for item in access.results)
    ]
    if any(access.barrier for access in accesses) or len(writers) > 1 or writers not in ([], users[-1:]):
        return None
    clones = [op for op in users if op.name == _CLONE and _whole(splat, op)]
    if len(users) < 2 and not clones:
        return None
    consumers = [op for op in users if op not in clones]
    return SharedSplat(splat, consumers, writers[0] if writers else None, clones)


def _whole(splat: ir.Operation, clone: ir.Operation) -> bool:
    size = constant_index(clone.operands[2])
    return size is not None and size == constant_index(splat.operands[1])


def _fill_like(splat: ir.Operation, clone: ir.Operation) -> ir.Operation:
    """A splat in the place of `clone`, with its type."""
    return ir.Operation.create(
        _SPLAT,
        results=[clone.results[0].type],
        operands=[splat.operands[0], clone.operands[2]],
        attributes={name: splat.attributes[name] for name in splat.attributes},
        loc=clone.location,
        ip=ir.InsertionPoint(clone),
    )


def _use(op: ir.Operation, old: ir.Value, new: ir.Value) -> None:
    for index, operand in enumerate(list(op.operands)):
        if operand == old:
            op.operands[index] = new
