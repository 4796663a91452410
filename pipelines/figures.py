"""From what the passes found to the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from serenity_mlir.dialect_passes.stream.layout_slices import RegionPlan
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.dialect_passes.tensors.stored_constants import StoredConstant
from serenity_mlir.pipelines.choose_rewrites import Choice
from serenity_mlir.pipelines.dispatch_figures import dispatch_infos
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.iree_version import iree_version
from serenity_mlir.pipelines.lower import Lowered
from serenity_mlir.pipelines.lower_stream import StreamResult
from serenity_mlir.pipelines.rewrite_trials import Considered
from serenity_mlir.pipelines.rom import rom
from serenity_mlir.pipelines.timelines import timelines
from serenity_mlir.report import (
    SCHEMA_VERSION,
    Footprint,
    Memory,
    ModelInfo,
    NotTaken,
    OffChip,
    PeakOp,
    Price,
    RegionInfo,
    Report,
    Rewrite,
    ScheduleInfo,
    Seconds,
    Transfers,
)
from serenity_mlir.timeline import RegionTimeline
from serenity_mlir.traffic import ON_CHIP, Traffic, traffic


def build_report(  # noqa: PLR0913  (what there is to report)
    source: SourceModel,
    target: str,
    lowered: Lowered,
    seconds: tuple[float, float],
    choice: Choice | None,
    *,
    own: Sequence[StoredConstant] | None = None,
) -> Report:
    """The report of one compilation.

    Args:
        source: What was compiled.
        target: For what.
        lowered: What the passes found, and the slab that was read back from the compiled module.
        seconds: Of import, and of everything.
        choice: Of rewrites, where there was one.
        own: The model's constants, where they are known.
    """
    result = lowered.stream
    courses = timelines(result, source)
    import_seconds, total_seconds = seconds
    ours = result.schedule_seconds + result.arena_seconds
    return Report(
        schema_version=SCHEMA_VERSION,
        model=ModelInfo(_printable(source.path), source.sha256, source.format),
        target=target,
        iree_version=iree_version(),
        memory=_memory(result, lowered.slab),
        schedule=_schedule(result),
        regions=[_region(item, result.plans) for item in result.schedules],
        rewrites=[*_rewrites(choice), *result.rewrites],
        seconds=Seconds(
            import_=import_seconds,
            schedule=result.schedule_seconds,
            arena=result.arena_seconds,
            iree=max(total_seconds - import_seconds - ours, 0.0),
            total=total_seconds,
        ),
        peak=peak_op(courses),
        traffic=off_chip(result.schedules),
        price=_price(choice),
        considered=[] if choice is None else [_considered(item) for item in choice.considered],
        timeline=courses,
        dispatches=dispatch_infos(lowered.dispatches, choice),
        rom=None if own is None else rom(own, lowered.constants),
        as_written=choice.before if choice is not None and choice.taken else None,
        warnings=[*(note.message for note in source.notes), *_notes(choice), *result.notes, *result.warnings],
    )


def _rewrites(choice: Choice | None) -> list[Rewrite]:
    taken = {} if choice is None else choice.taken
    parted = ((*key.partition(" at ")[::2], saved) for key, saved in taken.items())
    return [Rewrite(*item) for item in parted]


def _notes(choice: Choice | None) -> Sequence[str]:
    return () if choice is None else choice.notes


def _price(choice: Choice | None) -> Price | None:
    if choice is None or choice.price is None:
        return None
    before, after = choice.price
    return Price(
        macs=(before.macs, after.macs),
        ops=(before.ops, after.ops),
        weights=(before.weights, after.weights),
        latency=choice.latency,
    )


def _considered(item: Considered) -> NotTaken:
    pattern, _, location = item.key.partition(" at ")
    return NotTaken(pattern, location, item.reason)


def _memory(result: StreamResult, allocated: int | None) -> Memory:
    bound, arena = result.bound, result.final.arena
    proven = not result.warnings and bound is not None and bound == arena
    gap = None if bound is None or arena is None else (arena - bound) / arena if arena else 0.0
    return Memory(
        file_order=result.file_order,
        final=result.final,
        lower_bound=bound,
        optimal=proven,
        gap=gap,
        slab=allocated,
        inputs=result.io.inputs,
        outputs=result.io.outputs,
        weights=result.io.weights,
        ram=_ram(result, allocated),
        stock=result.stock,
        io="external" if result.whole is None else "arena",
    )


def _ram(result: StreamResult, allocated: int | None) -> int | None:
    if result.whole is not None:
        return result.whole.plan.size
    parts = (allocated, result.io.inputs, result.io.outputs)
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _schedule(result: StreamResult) -> ScheduleInfo:
    model = [item.schedule for item in result.schedules if item.role == "model" and item.schedule is not None]
    return ScheduleInfo(
        method="+".join(dict.fromkeys(item.method for item in model)) or "none",
        ops=sum(len(item.order) for item in model),
        states=sum(item.states for item in model),
        seconds=result.schedule_seconds,
        segments=sum(item.segments for item in model),
    )


def _region(item: RegionSchedule, plans: tuple[RegionPlan, ...]) -> RegionInfo:
    found = next((plan for plan in plans if plan.name == item.region and plan.kind == "slab"), None)
    arena = found.plan.size if found is not None and found.plan is not None else None
    if item.schedule is None:
        unknown = Footprint(None, None)
        return RegionInfo(item.region, item.role, 0, unknown, unknown, None, False, "none", item.left_alone)
    peak = item.schedule.peak
    if item.held is not None:  # the function's regions share one arena
        arena = None
    elif found is None and not peak:
        arena = peak
    return RegionInfo(
        name=item.region,
        role=item.role,
        ops=len(item.schedule.order),
        file_order=Footprint(item.file_peak, None),
        final=Footprint(peak, arena),
        lower_bound=item.schedule.lower_bound,
        optimal=(peak if item.held is not None else arena) == item.schedule.lower_bound,
        method=item.schedule.method,
        left_alone="",
    )


def peak_op(courses: Sequence[RegionTimeline]) -> PeakOp | None:
    """The op of the model at which most bytes are live, and those bytes by buffer."""
    found = [item.after for item in courses if item.role == "model" and item.after.steps]
    if not found:
        return None
    highest = max(found, key=lambda item: item.peak)
    step = highest.peak_step
    at = highest.steps[step]
    buffers = [(item.label, item.size) for item in highest.live_at(step)]
    return PeakOp(at.label, at.live, buffers, list(at.nodes))


def off_chip(schedules: Sequence[RegionSchedule]) -> list[OffChip]:
    """Off-chip traffic of the model's regions, each run once; empty where one has no constant sizes."""
    runs = [
        (item.file_graph, item.graph, item.schedule.order)
        for item in schedules
        if item.role == "model" and item.file_graph and item.graph and item.schedule
    ]
    if len(runs) < sum(item.role == "model" for item in schedules):
        return []
    out = []
    for size in ON_CHIP:
        before = [traffic(graph, graph.file_order, size) for graph, _, _ in runs]
        after = [traffic(graph, order, size) for _, graph, order in runs]
        out.append(OffChip(size, _transfers(before), _transfers(after)))
    return out


def _transfers(parts: Sequence[Traffic]) -> Transfers:
    return Transfers(sum(part.bytes_in for part in parts), sum(part.bytes_out for part in parts))


def _printable(path: Path) -> str:
    """A path as JSON takes it: bytes in it that are no text are written out."""
    return os.fsencode(path).decode(errors="backslashreplace")
