"""The planned arena of a model as minimalloc's CSV, for tools that read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from serenity_mlir.arena.minimalloc_csv import Record, to_csv
from serenity_mlir.dialect_passes.stream.layout_slices import RegionPlan
from serenity_mlir.dialect_passes.stream.whole_arena import WholeArena
from serenity_mlir.errors import SerenityError
from serenity_mlir.liveness import Slice
from serenity_mlir.pipelines.lower_stream import StreamResult
from serenity_mlir.timeline import RegionTimeline

_Place = tuple[str, int, int, int]
"""A region, the steps of a buffer in it, and its offset: no two buffers share all of them."""


def arena_csv(result: StreamResult, timeline: Sequence[RegionTimeline], *, file: str) -> str:
    """Every slice of the arena with its steps, bytes and offset, ids being `REGION/NUMBER NODE+NODE`.

    The nodes are those of the model that write it. The steps of several regions follow one another.
    With `io` "arena" inputs and outputs are there too, `input 0 TENSOR`; otherwise they have storage
    of their own, and each region a slab of its own.

    Raises:
        SerenityError: a slice has no constant size, so IREE places it.
    """
    nodes: dict[_Place, tuple[str, ...]] = {
        (region.name, item.first, item.last + 1, item.offset): item.nodes
        for region in timeline
        for item in region.after.buffers
        if item.offset is not None
    }
    if result.whole is None:
        return to_csv(_slabs(result.plans, nodes, file))
    held = {item.name: item.nodes for region in timeline for item in region.after.buffers}
    return to_csv(_whole(result.whole, nodes, held))


def field_id(name: str, nodes: Iterable[str]) -> str:
    """One field: minimalloc splits lines at commas and knows no quotes."""
    found = "+".join(nodes)
    return " ".join(f"{name} {found}".replace(",", ";").replace('"', "'").split())


def _slabs(plans: tuple[RegionPlan, ...], nodes: dict[_Place, tuple[str, ...]], file: str) -> list[Record]:
    records: list[Record] = []
    base = 0
    for region in plans:
        if region.role != "model" or region.kind != "slab":
            continue
        if region.plan is None:
            raise SerenityError(
                f"the arena is not planned: {region.left_alone}",
                file=file,
                where=region.name,
                hint="leave out --csv, or give dynamic dimensions sizes",
            )
        for number, (item, offset) in enumerate(zip(region.slices, region.plan.offsets, strict=True)):
            name = field_id(
                f"{region.name}/{number}", nodes.get((region.name, item.start, item.end, offset), ())
            )
            records.append(Record(name, Slice(item.start + base, item.end + base, item.size), offset))
        base += max((item.end for item in region.slices), default=0)
    return records


def _whole(
    whole: WholeArena, nodes: dict[_Place, tuple[str, ...]], held: dict[str, tuple[str, ...]]
) -> list[Record]:
    timeline, offsets = whole.timeline, whole.plan.offsets
    names = {index: field_id(name, held.get(name, ())) for name, index in timeline.held.items()}
    for region, (base, where) in timeline.own.items():
        for number, index in enumerate(where):
            item = timeline.slices[index]
            place = (region, item.start - base, item.end - base, offsets[index])
            names[index] = field_id(f"{region}/{number}", nodes.get(place, ()))
    return [
        Record(names[index], item, offset)
        for index, (item, offset) in enumerate(zip(timeline.slices, offsets, strict=True))
    ]
