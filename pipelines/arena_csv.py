"""The planned arena of a model as minimalloc's CSV, for tools that read it."""

from __future__ import annotations

from serenity_mlir.arena.minimalloc_csv import Record, to_csv
from serenity_mlir.dialect_passes.stream.layout_slices import RegionPlan
from serenity_mlir.dialect_passes.stream.whole_arena import WholeArena
from serenity_mlir.errors import SerenityError
from serenity_mlir.liveness import Slice
from serenity_mlir.pipelines.lower_stream import StreamResult


def arena_csv(result: StreamResult, *, file: str) -> str:
    """Every slice of the arena with its steps, bytes and offset, ids being `REGION/NUMBER`.

    The steps of several regions follow one another. With `io` "arena" inputs and outputs are
    there too, by name; otherwise they have storage of their own, and each region a slab of its own.

    Raises:
        SerenityError: a slice has no constant size, so IREE places it.
    """
    return to_csv(_slabs(result.plans, file) if result.whole is None else _whole(result.whole))


def _slabs(plans: tuple[RegionPlan, ...], file: str) -> list[Record]:
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
        records += (
            Record(f"{region.name}/{number}", Slice(item.start + base, item.end + base, item.size), offset)
            for number, (item, offset) in enumerate(zip(region.slices, region.plan.offsets, strict=True))
        )
        base += max((item.end for item in region.slices), default=0)
    return records


def _whole(whole: WholeArena) -> list[Record]:
    timeline = whole.timeline
    names = {index: name for name, index in timeline.held.items()}
    for region, (_, where) in timeline.own.items():
        names |= {index: f"{region}/{number}" for number, index in enumerate(where)}
    return [
        Record(names[index], item, offset)
        for index, (item, offset) in enumerate(zip(timeline.slices, whole.plan.offsets, strict=True))
    ]
