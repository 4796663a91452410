"""From any phase to a later one, with our passes on the way through phase `stream`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from serenity_mlir.dialect_passes.codegen.share_guards import ShareGuardsPass
from serenity_mlir.dialect_passes.codegen.tile_for_registers import TileForRegistersPass
from serenity_mlir.dialect_passes.flow.dispatches import Dispatch, dispatches
from serenity_mlir.dialect_passes.flow.locate_dispatches import LocateDispatchesPass
from serenity_mlir.dialect_passes.stream.slab import allocations, compiled_allocations, slab
from serenity_mlir.dialect_passes.tensors.stored_constants import StoredConstant, stored_constants
from serenity_mlir.errors import CheckFailed
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.pipelines.iree_types import flag_value
from serenity_mlir.pipelines.lower_stream import StreamOptions, StreamResult, lower_stream
from serenity_mlir.pipelines.phases import PHASES
from serenity_mlir.report import Footprint

DISPATCHES_MADE, BEFORE_STREAM, CONFIGURED = "dispatch-creation", "flow", "executable-configurations"
_ALIGNMENT = "iree-stream-resource-min-offset-alignment"
# Execution models whose finished modules call the HAL's queues for every allocation.
_QUEUED = ("async-internal", "async-external")


@dataclass(frozen=True, slots=True)
class Lowered:
    """What was lowered.

    Attributes:
        stream: What the passes found.
        slab: Read back from the module that they led to.
        dispatches: Of that module.
        constants: The same.
    """

    stream: StreamResult
    slab: int | None
    dispatches: tuple[Dispatch, ...]
    constants: tuple[StoredConstant, ...]


def with_alignment(options: StreamOptions, iree_flags: Sequence[str]) -> StreamOptions:
    """`options` with the alignment of slices that iree-compile's flags ask for, if they do."""
    given = flag_value(iree_flags, _ALIGNMENT)
    return replace(options, alignment=int(given, 0)) if given else options


def lower_to(
    program: Program,
    last: str,
    options: StreamOptions,
    progress: Callable[[str], None],
    unchanged: Program | None = None,
) -> Lowered | None:
    """Step `program` to phase `last`, with our passes on the way through phase `stream`.

    Args:
        program: What to lower.
        last: The phase to stop after.
        options: Of order and arena.
        progress: Called with each stage.
        unchanged: The program without our rewrites, where it has any and stock is to be measured.

    Returns:
        None where `last` is before phase `stream`.

    Raises:
        CompilerError: IREE failed.
        CheckFailed: An independent check disproved our own work.
    """
    if last == program.phase:
        return None
    progress("compile with IREE")
    if PHASES.index(last) <= PHASES.index(BEFORE_STREAM):
        program.to_phase(last)
        return None
    if PHASES.index(program.phase) < PHASES.index(DISPATCHES_MADE):
        program.to_phase(DISPATCHES_MADE)
    if program.phase == DISPATCHES_MADE:
        LocateDispatchesPass().apply(program.module)
        program.to_phase(BEFORE_STREAM)
    if unchanged is not None:
        unchanged.to_phase(BEFORE_STREAM)
    ran, constants = tuple(dispatches(program.module)), tuple(stored_constants(program.module))
    result = lower_stream(program, options, progress, unchanged)
    expected = allocations(program.module)
    if result.planned is not None and (expected is None or set(expected) - set(result.planned)):
        raise CheckFailed(
            f"planned {_listed(result.planned)} bytes, but IREE allocates {_listed(expected)}",
            file=program.file,
        )
    allocated = slab(program.module).model
    if last != "stream":
        _generate_code(program, last, options)
    if last == "end" and expected and program.session.flag("iree-execution-model") in _QUEUED:
        missing = expected - compiled_allocations(program.module)
        if missing:
            raise CheckFailed(
                f"the compiled module does not ask for {sorted(missing)} bytes as planned", file=program.file
            )
    return Lowered(_as_allocated(result, allocated), allocated, ran, constants)


def _generate_code(program: Program, last: str, options: StreamOptions) -> None:
    """Step a program from the end of phase `stream` to phase `last`."""
    if options.register_tiles and PHASES.index(last) > PHASES.index(CONFIGURED):
        program.to_phase(CONFIGURED)
        ShareGuardsPass().apply(program.module)
        TileForRegistersPass(soft_floats=options.soft_floats).apply(program.module)
    program.to_phase(last)


def _listed(sizes: Counter[int] | None) -> str:
    return "an unknown number of" if sizes is None else " and ".join(map(str, sorted(sizes))) or "no"


def _as_allocated(result: StreamResult, allocated: int | None) -> StreamResult:
    """`result` where IREE changed the program around the regions: nothing is proven of that one."""
    if result.slab == allocated:
        return result
    changed = (
        "IREE changed the program around its regions after planning: no peak is known, no optimum proven"
    )
    return replace(
        result, final=Footprint(None, allocated), whole=None, bound=None, warnings=(*result.warnings, changed)
    )
