"""From phase `flow` to the end of phase `stream`, with our passes between IREE's.

IREE's stream phase is four pipelines. Ours run where DESIGN says: the order is set after the
async pipeline, the arena after `iree-stream-schedule-allocation`, and both are checked by
running the lowered ops on symbolic memory before IREE goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

from serenity_mlir.dialect_passes.flow.locate_dispatches import StripDispatchLocationsPass
from serenity_mlir.dialect_passes.stream.io_sizes import IoSizes, io_sizes
from serenity_mlir.dialect_passes.stream.layout_slices import LayoutSlicesPass, RegionPlan
from serenity_mlir.dialect_passes.stream.place_in_arena import place_in_arena, separate_results
from serenity_mlir.dialect_passes.stream.regions import regions
from serenity_mlir.dialect_passes.stream.schedule_execution import (
    ARENA,
    EXTERNAL,
    RegionSchedule,
    ScheduleExecutionPass,
)
from serenity_mlir.dialect_passes.stream.slab import allocations, slab
from serenity_mlir.dialect_passes.stream.source_nodes import region_sources
from serenity_mlir.dialect_passes.stream.symbolic import check_layout, check_order
from serenity_mlir.dialect_passes.stream.whole_arena import WholeArena
from serenity_mlir.pipelines.dump_statistics import dump_statistics
from serenity_mlir.pipelines.footprint import Layout, bound, footprint
from serenity_mlir.pipelines.io_arena import WholeFootprint, whole_footprint
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.pipelines.order_execution import order_execution
from serenity_mlir.pipelines.stream_pipelines import (
    ALLOCATE,
    CLEAN_UP,
    CMD,
    OPTIMIZE,
    TENSOR,
    VERIFY,
    measured_stock,
    place_results,
    started,
    stock_figures,
)
from serenity_mlir.pipelines.stream_warnings import stream_warnings
from serenity_mlir.report import Footprint, Rewrite, Stock
from serenity_mlir.schedulers import DEFAULT_METHOD
from serenity_mlir.timeline import Source

# Shares of the time limit for the arena of file order and for ours, which also gets what is left over.
_FILE_PLAN, _PLAN = 0.1, 0.25
_NOT_IN_ARENA = (
    "inputs and outputs are counted apart: outside of its regions the program has control flow, state or "
    "sizes that are no constants, or it has no region"
)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What to do on the way through phase `stream`.

    Attributes:
        schedule: Search for an order; else the file's is kept.
        arena: Plan the packing; else it is left to IREE.
        time_limit: Seconds for all searches together.
        compare_stock: Also measure what stock IREE allocates.
        alignment: Of slices, in bytes; 0 takes the module's own.
        io: "external", or "arena" to count inputs and outputs among what is scheduled and packed.
        method: How orders are looked for, one of `schedulers.METHODS`.
        place: Firmware follows, which has no allocator: with `io` "arena" the offsets of the whole
            arena go into the program, else each result gets storage of its own.
        register_tiles: Tile dispatches for a core without vectors, after phase `stream`.
        soft_floats: For one without an FPU, too.
    """

    schedule: bool = True
    arena: bool = True
    time_limit: float = 2.0
    compare_stock: bool = False
    alignment: int = 0
    io: str = EXTERNAL
    method: str = DEFAULT_METHOD
    place: bool = False
    register_tiles: bool = False
    soft_floats: bool = False


@dataclass(frozen=True)
class StreamResult:
    """What was found and done.

    Attributes:
        schedules: One a region, initializers included.
        rewrites: Those that were kept.
        plans: One a region with slices.
        before: In file order.
        after: As it is compiled.
        file_order: Of the whole module, before scheduling.
        final: Of the whole module, predicted before IREE went on.
        slab: Transient bytes that IREE was told to allocate: `final.arena`, but for `whole`.
        whole: The arena with inputs and outputs in it that the figures are of, with `io` "arena".
        arenas: That arena for each function, by its symbol; empty where there is none.
        planned: How often each size of transient storage is allocated by then; None where a
            size was no constant.
        bound: Transient bytes that no order of the module's regions goes below.
        stock: With `compare_stock`.
        io: Inputs, outputs and weights.
        schedule_seconds: Spent in our schedulers.
        arena_seconds: Spent in our planners.
        warnings: Why the figures are not proven.
        notes: What else their reader should know.
    """

    schedules: tuple[RegionSchedule, ...]
    rewrites: tuple[Rewrite, ...]
    plans: tuple[RegionPlan, ...]
    before: Layout
    after: Layout
    file_order: Footprint
    final: Footprint
    slab: int | None
    whole: WholeArena | None
    arenas: Mapping[str, WholeArena]
    planned: Counter[int] | None
    bound: int | None
    stock: Stock | None
    io: IoSizes
    schedule_seconds: float
    arena_seconds: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def lower_stream(
    program: Program,
    options: StreamOptions,
    progress: Callable[[str], None],
    unchanged: Program | None = None,
) -> StreamResult:
    """Lower `program`, at the end of phase `flow`, to the end of phase `stream`.

    Args:
        program: What to lower.
        options: How.
        progress: Called with each stage.
        unchanged: The program without our rewrites, at the end of phase `flow` too, where it has any:
            what stock is measured on. It is spent.

    Raises:
        CompilerError: IREE failed.
        CheckFailed: A check disproved what we did; nothing is emitted then.
    """
    run = started(program)
    program.run(VERIFY)
    run(program, TENSOR)
    stock = measured_stock(program, unchanged, run) if options.compare_stock else {}
    place_results(program, run)
    io = io_sizes(program.module)

    progress("schedule")
    reference = program.fork()
    began = perf_counter()
    schedules, rewrites = order_execution(program.module, _scheduling(options))
    schedule_seconds = perf_counter() - began
    sources, file_sources = _sources(program), _sources(reference)
    run(reference, ALLOCATE)
    run(program, ALLOCATE)
    unchecked = len(regions(program.module, "stream.cmd.execute")) - check_order(
        reference.module, program.module
    )

    progress("plan the arena")
    began = perf_counter()
    file_order, _, file_plans = footprint(
        reference.module, options.alignment, ours=True, time_limit=_FILE_PLAN * options.time_limit
    )
    final, planned, laid = footprint(program.module, options.alignment, ours=False)
    least = bound(program.module, schedules, options.alignment)
    plans: list[RegionPlan] = []
    whole = _whole(schedules, program, options) if options.io == ARENA else None
    sliced = program.fork()
    if options.place and options.io != ARENA:
        separate_results(program.module)
        sliced = program.fork()
    elif options.place and whole is not None:
        place_in_arena(program.module, whole.arenas, alignment=options.alignment)
    if options.arena:
        left = options.time_limit - schedule_seconds - (perf_counter() - began)
        limit = max(left, _PLAN * options.time_limit)
        plans = laid = LayoutSlicesPass(limit, options.alignment).apply(program.module)
        check_layout(sliced.module, program.module)
        final, planned = Footprint(final.peak, slab(program.module).model), allocations(program.module)
    transient = final.arena
    if whole is not None:
        file_order, final, least = whole.file_order, whole.final, whole.bound
    arena_seconds = perf_counter() - began
    if options.compare_stock and unchanged is None:
        run(reference, CMD)
        stock["debug"] = slab(reference.module).model

    progress("compile with IREE")
    run(program, CMD)
    dump_statistics(program)
    run(program, OPTIMIZE)
    program.run(CLEAN_UP)
    program.reached("stream")
    return StreamResult(
        schedules=tuple(schedules),
        rewrites=tuple(rewrites),
        plans=tuple(plans),
        before=Layout(file_sources, file_plans, {} if whole is None else whole.file_arenas),
        after=Layout(sources, laid, {} if whole is None else whole.arenas),
        file_order=file_order,
        final=final,
        slab=transient,
        whole=None if whole is None else whole.arena,
        arenas={} if whole is None else whole.arenas,
        planned=planned,
        bound=least,
        stock=stock_figures(stock) if options.compare_stock else None,
        io=io,
        schedule_seconds=schedule_seconds,
        arena_seconds=arena_seconds,
        warnings=tuple(stream_warnings(schedules, plans, unchecked)),
        notes=(_NOT_IN_ARENA,) if options.io == ARENA and whole is None else (),
    )


@dataclass(frozen=True, slots=True)
class Prediction:
    """The arena, None where it has no constant size, the schedules that lead to it, and bytes of weights."""

    arena: int | None
    schedules: tuple[RegionSchedule, ...]
    weights: int


def predict(program: Program, options: StreamOptions) -> Prediction:
    """The arena that `lower_stream` would come to, without its checks; the program is spent.

    Args:
        program: At the end of phase `flow`.
        options: What is asked for; `compare_stock` does not matter.

    Raises:
        CompilerError: IREE failed.
    """
    run = started(program)
    run(program, TENSOR)
    place_results(program, run)
    weights = io_sizes(program.module).weights
    schedules, _ = order_execution(program.module, _scheduling(options))
    run(program, ALLOCATE)
    limit = _PLAN * options.time_limit
    if options.io == ARENA:
        whole = _whole(schedules, program, options)
        if whole is not None:
            return Prediction(whole.final.arena, tuple(schedules), weights)
    found, _, _ = footprint(program.module, options.alignment, ours=options.arena, time_limit=limit)
    return Prediction(found.arena, tuple(schedules), weights)


def _sources(program: Program) -> dict[str, tuple[Source, ...]]:
    """Of the ops of each region; what the locations of dispatches had for this alone is taken off."""
    found = region_sources(program.module)
    StripDispatchLocationsPass().apply(program.module)
    return found


def _whole(
    schedules: list[RegionSchedule], program: Program, options: StreamOptions
) -> WholeFootprint | None:
    limit = _PLAN * options.time_limit
    return whole_footprint(schedules, program.module, alignment=options.alignment, time_limit=limit)


def _scheduling(options: StreamOptions) -> ScheduleExecutionPass:
    return ScheduleExecutionPass(
        time_limit=(1 - _FILE_PLAN - _PLAN) * options.time_limit,
        alignment=options.alignment,
        keep_order=not options.schedule,
        io=options.io,
        method=options.method,
    )
