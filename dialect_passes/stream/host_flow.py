"""How storage flows through a function: values that hold it, and where each is needed.

A function's blocks, and the loops and branches of `scf` in it, become straight segments with
edges. On an edge, block arguments (results and carried values of `scf` alike) take what is
handed over. A loop then holds what it carries beside what it allocates anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import is_resource

_ALLOCA = "stream.resource.alloca"
_LOOPS = ("scf.for", "scf.while")
_BRANCHES = ("scf.if", "scf.index_switch", "scf.execute_region")
_LEAVE = ("scf.yield", "scf.condition")
_Copies = list[tuple[ir.Value, ir.Value]]


@dataclass
class Segment:
    """Ops that run one after another, and where control goes: a segment, and (taker, value) pairs."""

    ops: list[ir.Operation] = field(default_factory=list)
    edges: list[tuple[int, _Copies]] = field(default_factory=list)


@dataclass(frozen=True)
class Moment:
    """One op, the holders of storage that are needed while it runs, and those allocated so far."""

    op: ir.Operation
    live: frozenset[ir.Value]


class HostFlow:
    """The segments of one function, and what holds storage in it.

    A *holder* is an allocation, or a value that takes over storage on an edge. Every other
    resource (a subview, what an await hands on) stands for holders.
    """

    def __init__(self, function: ir.Operation) -> None:
        self.segments: list[Segment] = []
        self._roots: dict[ir.Value, frozenset[ir.Value]] = {}
        self._handed_on: dict[ir.Operation, dict[ir.Value, list[ir.Value]]] = {}
        self._lower(function.regions[0], lambda _segment, _op: None)

    def takers(self) -> Iterator[tuple[ir.Value, frozenset[ir.Value]]]:
        """Each value that takes over storage, with the holders that it may come from; many times."""
        for segment in self.segments:
            for _, copies in segment.edges:
                for taker, value in copies:
                    yield taker, self.holders(value)

    def holders(self, value: ir.Value) -> frozenset[ir.Value]:
        """The holders that `value` may stand for."""
        if value not in self._roots:
            self._roots[value] = frozenset().union(*map(self.holders, self._forwarded(value))) or frozenset(
                [value]
            )
        return self._roots[value]

    def _forwarded(self, value: ir.Value) -> list[ir.Value]:
        """The resources that an op hands on as `value`; none where it holds storage itself."""
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.name in (_ALLOCA, *_LOOPS, *_BRANCHES):
            return []
        op = owner.operation
        if op not in self._handed_on:  # an await hands on thousands of weights: look once
            self._handed_on[op] = _handed_on(op)
        return self._handed_on[op].get(value, [])

    def moments(self) -> Iterator[Moment]:
        """Every op with what is live while it runs: defined or needed by it, or needed later."""
        entry: list[frozenset[ir.Value]] = [frozenset()] * len(self.segments)
        work = list(range(len(self.segments)))
        while work:
            index = work.pop()
            *_, first = self._backward(index, entry)
            if first != entry[index]:
                entry[index] = first
                work = list(range(len(self.segments)))
        for index, segment in enumerate(self.segments):
            after, *lives = self._backward(index, entry)
            for op, before in zip(reversed(segment.ops), lives, strict=True):
                yield Moment(op, after | before | self._defined(op))
                after = before

    def _backward(self, index: int, entry: list[frozenset[ir.Value]]) -> list[frozenset[ir.Value]]:
        """What is needed after the segment, then before each of its ops, last op first."""
        live: set[ir.Value] = set()
        for target, copies in self.segments[index].edges:
            taken = {taker for taker, _ in copies}
            live |= entry[target] - taken
            live.update(*(self.holders(value) for taker, value in copies if taker in entry[target]))
        out = [frozenset(live)]
        for op in reversed(self.segments[index].ops):
            live -= self._defined(op)
            if op.name not in (*_LOOPS, *_BRANCHES, *_LEAVE) and not list(op.successors):
                live.update(*(self.holders(value) for value in _resources(op.operands)))
            out.append(frozenset(live))
        return out

    def _defined(self, op: ir.Operation) -> frozenset[ir.Value]:
        return frozenset(op.results) if op.name == _ALLOCA else frozenset()

    def _lower(self, region: ir.Region, leave: Callable[[int, ir.Operation], None]) -> int:
        """Append the segments of a region; `leave` is called at each op that leaves it."""
        starts = {block: self._new() for block in region.blocks}
        for block, start in starts.items():
            current = start
            for item in block.operations:
                op = item.operation
                self.segments[current].ops.append(op)
                if op.name in (*_LOOPS, *_BRANCHES):
                    current = self._structured(op, current)
                elif op.name in _LEAVE:
                    leave(current, op)
                for number, successor in enumerate(op.successors):
                    taken = zip(
                        _resources(successor.arguments), _resources(_passed(op, number)), strict=False
                    )
                    self.segments[current].edges.append((starts[successor], list(taken)))
        return next(iter(starts.values()))

    def _structured(self, op: ir.Operation, before: int) -> int:
        after = self._new()
        entries: list[tuple[int, list[ir.Value]]] = []
        left: list[tuple[int, list[ir.Value]]] = []

        def leave(segment: int, terminator: ir.Operation) -> None:
            left.append((segment, list(_resources(terminator.operands))))

        for region in op.regions:
            if len(region.blocks):
                arguments = list(_resources(region.blocks[0].arguments))
                entries.append((self._lower(region, leave), arguments))
        results = (after, list(_resources(op.results)))
        given = list(_resources(op.operands))
        loop = op.name in _LOOPS
        for target, takers in (*entries, results) if loop or len(entries) < 2 else entries:
            self.segments[before].edges.append((target, list(zip(takers, given, strict=False))))
        for segment, values in left:
            for target, takers in (*entries, results) if loop else (results,):
                self.segments[segment].edges.append((target, list(zip(takers, values, strict=False))))
        return after

    def _new(self) -> int:
        self.segments.append(Segment())
        return len(self.segments) - 1


def _resources(values: Iterable[ir.Value]) -> Iterator[ir.Value]:
    return (value for value in values if is_resource(value))


def _passed(op: ir.Operation, successor: int) -> list[ir.Value]:
    """Operands that a branch hands to one successor; all of them where that is not known."""
    operands = list(op.operands)
    if op.name != "cf.cond_br":
        return operands
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    start = sum(segments[: successor + 1])
    return operands[start : start + segments[successor + 1]]


def _handed_on(op: ir.Operation) -> dict[ir.Value, list[ir.Value]]:
    """For each resource result of an op the resources that it may stand for."""
    if op.name.endswith(".call"):
        return {}
    operands, results = list(_resources(op.operands)), list(_resources(op.results))
    if len(operands) == len(results):
        return {result: [operand] for result, operand in zip(results, operands, strict=True)}
    return dict.fromkeys(results, operands)
