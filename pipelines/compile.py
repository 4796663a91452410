"""Compile one model: import, IREE's phases with our passes between them, output, report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Literal

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.slab import allocations, compiled_allocations, slab
from serenity_mlir.errors import CheckFailed, SerenityError
from serenity_mlir.pipelines.figures import build_report
from serenity_mlir.pipelines.global_flags import set_checked_global_flags
from serenity_mlir.pipelines.importing.diagnose import explain_legalization_failure
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.importing.unsigned_results import declare_unsigned_results
from serenity_mlir.pipelines.iree_api import Program, Session, split_flags
from serenity_mlir.pipelines.iree_types import CompilerError, flag_value
from serenity_mlir.pipelines.lower_stream import StreamOptions, StreamResult, lower_stream
from serenity_mlir.pipelines.parse_mlir import parse_module
from serenity_mlir.pipelines.phases import PHASES
from serenity_mlir.pipelines.scratch import note_stage
from serenity_mlir.pipelines.targets import DEFAULT_TARGET, compiler_flags
from serenity_mlir.report import Footprint, Report

_KEEP_F64 = "--iree-input-demote-f64-to-f32=false"
_BEFORE_STREAM = "flow"
_ALIGNMENT = "iree-stream-resource-min-offset-alignment"
# Execution models whose finished modules call the HAL's queues for every allocation.
_QUEUED = ("async-internal", "async-external")


def _silent(_stage: str) -> None:
    """No progress wanted."""


def noted(progress: Callable[[str], None] = _silent) -> Callable[[str], None]:
    """Stages are shown to the user and noted for the process that contains this one."""

    def stage(name: str) -> None:
        note_stage(name)
        progress(name)

    return stage


@dataclass(frozen=True)
class CompileOptions:
    """What to make of a model.

    Attributes:
        emit: A runnable `.vmfb`, or the IR at the end of `phase`.
        phase: With emit "mlir": the IREE phase to stop after.
        target: A name of `targets.TARGETS`.
        iree_flags: iree-compile's own flags, passed through; they win over the target's.
        stream: Order and arena.
        debug_info: Print locations with IR.
        progress: Called with the name of each stage as it begins.
    """

    emit: Literal["vmfb", "mlir"] = "vmfb"
    phase: str = "stream"
    target: str = DEFAULT_TARGET
    iree_flags: Sequence[str] = ()
    stream: StreamOptions = field(default_factory=StreamOptions)
    debug_info: bool = False
    progress: Callable[[str], None] = _silent


@dataclass(frozen=True)
class Compiled:
    """The result of a compilation.

    Attributes:
        source: The model as read.
        program: What it became; ready for output.
        report: Figures; None where compilation stopped before phase `stream`.
        stream: What the passes found; None likewise.
    """

    source: SourceModel
    program: Program
    report: Report | None
    stream: StreamResult | None


def compile_model(path: Path, options: CompileOptions) -> Compiled:
    """Compile the model at `path`.

    May be called once a process where `options.iree_flags` holds flags that are not a
    session's: those are the process's.

    Raises:
        SerenityError: The file, the model or the flags are at fault; the message names the
            node and a way out.
        CheckFailed: An independent check disproved our own work.
    """
    began = perf_counter()
    progress = noted(options.progress)
    progress("import")
    source = load_model(path)
    session = _session(options, source)
    program = session.program(_module(source, session), file=str(path))
    imported = perf_counter()
    last = "end" if options.emit == "vmfb" else options.phase
    try:
        declare_unsigned(program, source, last)
        lowered = lower_to(program, last, with_alignment(options.stream, options.iree_flags), progress)
    except CompilerError as error:
        raise explained(error, source) from error
    if lowered is None:
        return Compiled(source, program, None, None)
    report = build_report(
        source,
        options.target,
        lowered.stream,
        lowered.slab,
        (imported - began, perf_counter() - began),
    )
    return Compiled(source, program, report, lowered.stream)


def _session(options: CompileOptions, source: SourceModel) -> Session:
    flags = [*compiler_flags(options.target, options.iree_flags)]
    if any(item.dtype == "float64" for item in (*source.inputs, *source.outputs)):
        # Demoted, the function would take float32 where the model says float64: calls fail.
        flags = [_KEEP_F64, *flags]
    session_flags, global_flags = split_flags(flags)
    set_checked_global_flags(global_flags)
    return Session(session_flags)


def declare_unsigned(program: Program, source: SourceModel, last: str) -> None:
    """Step an ONNX program with unsigned results through phase `input`, and describe them so.

    Does nothing where `last`, the phase to stop after, comes before that.
    """
    if last != "start" and source.proto is not None and any(item.unsigned for item in source.outputs):
        program.to_phase("input")
        declare_unsigned_results(program.module, source.proto.graph.name, source.outputs)


def _module(source: SourceModel, session: Session) -> ir.Operation:
    if source.format == "onnx":
        return import_onnx(source, session.context)
    if source.mlir is None:
        raise ValueError(f"{source.path} holds no MLIR")
    return parse_module(session, source.mlir, file=str(source.path))


@dataclass(frozen=True, slots=True)
class Lowered:
    """What the passes found, and the slab that was read back from the module that they led to."""

    stream: StreamResult
    slab: int | None


def with_alignment(options: StreamOptions, iree_flags: Sequence[str]) -> StreamOptions:
    """`options` with the alignment of slices that iree-compile's flags ask for, if they do."""
    given = flag_value(iree_flags, _ALIGNMENT)
    return replace(options, alignment=int(given, 0)) if given else options


def lower_to(
    program: Program, last: str, options: StreamOptions, progress: Callable[[str], None]
) -> Lowered | None:
    """Step `program` to phase `last`, with our passes on the way through phase `stream`.

    Returns:
        None where `last` is before phase `stream`.

    Raises:
        CompilerError: IREE failed.
        CheckFailed: An independent check disproved our own work.
    """
    if last == program.phase:
        return None
    progress("compile with IREE")
    if PHASES.index(last) <= PHASES.index(_BEFORE_STREAM):
        program.to_phase(last)
        return None
    if program.phase != _BEFORE_STREAM:
        program.to_phase(_BEFORE_STREAM)
    result = lower_stream(program, options, progress)
    expected = allocations(program.module)
    if result.planned is not None and (expected is None or set(expected) - set(result.planned)):
        raise CheckFailed(
            f"planned {_listed(result.planned)} bytes, but IREE allocates {_listed(expected)}",
            file=program.file,
        )
    allocated = slab(program.module).model
    if last != "stream":
        program.to_phase(last)
    if last == "end" and expected and program.session.flag("iree-execution-model") in _QUEUED:
        missing = expected - compiled_allocations(program.module)
        if missing:
            raise CheckFailed(
                f"the compiled module does not ask for {sorted(missing)} bytes as planned", file=program.file
            )
    return Lowered(_as_allocated(result, allocated), allocated)


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


def explained(error: CompilerError, source: SourceModel) -> SerenityError:
    """Name the model's node where IREE could not legalise it."""
    for diagnostic in error.diagnostics if source.format == "onnx" else ():
        found = explain_legalization_failure(diagnostic.message)
        if found is not None:
            node, op = found
            return SerenityError(
                f"IREE cannot compile the operator '{op}'",
                file=str(source.path),
                where=f"node '{node}'",
                hint="express it with other operators, or leave the node out of the model",
            )
    return SerenityError(error.message, file=str(source.path), hint=error.hint)
