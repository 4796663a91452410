"""Where each buffer of a firmware library's arena lies, called what reports and tables call it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from serenity_mlir.dialect_passes.stream.whole_arena import WholeArena
from serenity_mlir.liveness import Slice
from serenity_mlir.pipelines.lower_stream import StreamResult
from serenity_mlir.timeline import Lifetime, RegionTimeline


class Placed(msgspec.Struct, frozen=True):
    """A buffer of the arena, live from step `first` to before step `end` of its entry.

    Attributes:
        entry: The function; where callers own inputs and outputs, its region.
        name: The op that makes it, or `input 0`, as in the report's timeline; else `slice` with its number.
        nodes: The model's nodes that write it, or the input's or output's tensor, likewise.
        offset: Bytes from the arena's start.
        bytes: Its size.
        first: Step.
        end: Step.
    """

    entry: str
    name: str
    nodes: tuple[str, ...]
    offset: int
    bytes: int
    first: int
    end: int


def arena_map(stream: StreamResult, timeline: Sequence[RegionTimeline]) -> list[Placed]:
    """Where each buffer lies, and when.

    Args:
        stream: What was planned.
        timeline: The report's, which has the names.
    """
    named = {item.name: item for item in timeline}
    arenas = stream.arenas.items()
    found = [item for entry, arena in arenas for item in _of_arena(entry, arena, named)]
    if not arenas:
        found = list(_of_slabs(stream, named))
    return sorted(found, key=lambda item: (item.entry, item.first, item.offset))


def _of_arena(entry: str, arena: WholeArena, named: dict[str, RegionTimeline]) -> Iterator[Placed]:
    """Of a function's one arena, whose steps go on from region to region."""
    placed = list(zip(arena.timeline.slices, arena.plan.offsets, strict=True))
    tensors = dict[str, Lifetime]()
    for region, (base, where) in arena.timeline.own.items():
        lifetimes = named[region].after.buffers
        tensors |= {item.name: item for item in lifetimes if item.owner != "slab"}
        known = _by_place(lifetimes, base)
        for number, index in enumerate(where):
            yield from _placed(entry, *placed[index], known, number)
    for name, index in arena.timeline.held.items():
        part, offset = placed[index]
        if part.size and part.end > part.start:
            nodes = tensors[name].nodes if name in tensors else ()
            yield Placed(entry, name, nodes, offset, part.size, part.start, part.end)


def _of_slabs(stream: StreamResult, named: dict[str, RegionTimeline]) -> Iterator[Placed]:
    """Of each region's slab, where callers own inputs and outputs."""
    for item in stream.plans:
        if item.role == "model" and item.kind == "slab" and item.plan is not None:
            known = _by_place(named[item.name].after.buffers, 0) if item.name in named else {}
            for number, (part, offset) in enumerate(zip(item.slices, item.plan.offsets, strict=True)):
                yield from _placed(item.name, part, offset, known, number)


def _by_place(lifetimes: Sequence[Lifetime], base: int) -> dict[tuple[int, int], Lifetime]:
    """A region's own buffers: no two begin at one step and at one offset."""
    return {
        (item.first + base, item.offset): item
        for item in lifetimes
        if item.owner == "slab" and item.offset is not None
    }


def _placed(
    entry: str, part: Slice, offset: int, known: dict[tuple[int, int], Lifetime], number: int
) -> Iterator[Placed]:
    if part.size and part.end > part.start:
        found = known.get((part.start, offset))
        name, nodes = (f"slice {number}", ()) if found is None else (found.name, found.nodes)
        yield Placed(entry, name, nodes, offset, part.size, part.start, part.end)
