"""The course of memory over the steps of a region: where every table, plot and trace takes its figures from.

Steps count from 0 in each region, one op at a time. All sizes are bytes, rounded up to the
allocator's alignment, as they are packed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import live_bytes, live_ranges

Owner = Literal["slab", "input", "output", "between regions"]
_SLAB: Owner = "slab"
_HELD: tuple[Owner, ...] = ("input", "output", "between regions")


class Source(msgspec.Struct, frozen=True):
    """What an op is called in the program, and the nodes of the model that it came from.

    Attributes:
        op: The dispatch's function, or the kind of op: `splat`.
        nodes: Names in the model, in the order of the op's location; empty where it has none.
    """

    op: str
    nodes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Both, as tables show them."""
        return f"{self.op} [{', '.join(self.nodes)}]" if self.nodes else self.op


class Step(Source, frozen=True, kw_only=True):
    """One op in its order.

    Attributes:
        live: Bytes live while it runs.
        delta: `live` less that of the step before; less 0 for the first.
    """

    live: int
    delta: int


class Lifetime(msgspec.Struct, frozen=True, kw_only=True):
    """One buffer in time and, where it is planned, in the arena.

    Attributes:
        name: The op that makes it, or `input 0`, `output 0`.
        nodes: Of the ops that write it, in the order of their steps; an input's tensor.
        size: Bytes.
        first: The step from which on it is live.
        last: The last step at which it is live.
        offset: Bytes from the start of the arena; None where it is not known.
        owner: `slab` for a region's own storage; the others are there where inputs and outputs
            count (`--io arena`).
    """

    name: str
    nodes: tuple[str, ...]
    size: int
    first: int
    last: int
    offset: int | None = None
    owner: Owner = "slab"

    @property
    def label(self) -> str:
        """Its name and nodes, as tables show them."""
        return Source(self.name, self.nodes).label


class Course(msgspec.Struct, frozen=True):
    """Memory over one order of a region's ops.

    Attributes:
        steps: In the order in which they run.
        buffers: Those that are ever live and have a size, in no particular order.
    """

    steps: tuple[Step, ...]
    buffers: tuple[Lifetime, ...]

    @property
    def peak(self) -> int:
        """The most bytes live at once; 0 where nothing runs."""
        return max((step.live for step in self.steps), default=0)

    @property
    def peak_step(self) -> int:
        """The first step at which so much is live.

        Raises:
            ValueError: Nothing runs.
        """
        return max(range(len(self.steps)), key=lambda step: self.steps[step].live)

    @property
    def arena(self) -> int | None:
        """Bytes up to the end of the last buffer; None where an offset is not known."""
        ends = [None if item.offset is None else item.offset + item.size for item in self.buffers]
        known = [end for end in ends if end is not None]
        return max(known, default=0) if len(known) == len(ends) else None

    def live_at(self, step: int) -> list[Lifetime]:
        """The buffers that are live at a step, the largest first."""
        found = [item for item in self.buffers if item.first <= step <= item.last]
        return sorted(found, key=lambda item: -item.size)


class RegionTimeline(msgspec.Struct, frozen=True):
    """The course of memory in one execution region.

    Where one arena holds inputs and outputs too, they are counted, and what regions hand to one
    another. Else what lies between the regions of a program with state or control flow is in no
    region's course: the model's live peak (`memory.final.peak`) is then above that of every region.

    Attributes:
        name: The function's symbol and the region's ordinal in it: `main#0`.
        role: `model`, or `initializer` for what runs once when the module is loaded.
        before: In file order; of the rewritten ops, where there are any.
        after: In the order that is compiled.
    """

    name: str
    role: str
    before: Course
    after: Course


def course(
    graph: MemoryGraph,
    order: Sequence[int],
    sources: Sequence[Source],
    offsets: Mapping[int, int],
    tensors: Sequence[str] = (),
) -> Course:
    """The course of memory over an order.

    Args:
        graph: The memory graph.
        order: A legal order of its ops.
        sources: What the ops came from, in that order.
        offsets: Of buffers, by index, where known.
        tensors: The last buffers are no part of the slab: inputs and outputs, which have a name in the
            model, and `between regions (2)`, which have an empty one.

    Raises:
        ValueError: There is not one source for each op.
    """
    ranges = live_ranges(graph, order)
    live = live_bytes(ranges, len(order))
    before = [0, *live[:-1]]
    steps = tuple(
        Step(op=source.op, nodes=source.nodes, live=now, delta=now - then)
        for source, now, then, _ in zip(sources, live, before[: len(live)], order, strict=True)
    )
    writers = _writers(graph, order)
    own = len(graph.buffers) - len(tensors)
    buffers = []
    for index, (buffer, found) in enumerate(zip(graph.buffers, ranges, strict=True)):
        if not buffer.size or found.start >= found.end:
            continue
        if index < own:
            made = sources[writers[index][0]].op
            nodes = dict.fromkeys(node for step in writers[index] for node in sources[step].nodes)
            source, owner = Source(made, tuple(nodes)), _SLAB
        else:
            tensor = tensors[index - own]
            source, owner = Source(buffer.name, (tensor,) if tensor else ()), _owner(buffer.name)
        buffers.append(
            Lifetime(
                name=source.op,
                nodes=source.nodes,
                size=buffer.size,
                first=found.start,
                last=found.end - 1,
                offset=offsets.get(index),
                owner=owner,
            )
        )
    return Course(steps, tuple(buffers))


def _writers(graph: MemoryGraph, order: Sequence[int]) -> dict[int, list[int]]:
    """The steps that make or change each buffer, the one that makes it first."""
    writers: dict[int, list[int]] = {}
    for step, index in enumerate(order):
        op = graph.ops[index]
        for buffer in op.touches:
            if buffer not in writers or buffer in op.updates:
                writers.setdefault(buffer, []).append(step)
    return writers


def _owner(name: str) -> Owner:
    """From `input 0`, `output 0` or `between regions (2)`."""
    return next(owner for owner in _HELD if name.startswith(owner))
