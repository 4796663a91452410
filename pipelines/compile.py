"""Compile one model: import, IREE's phases with our passes between them, output, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Literal

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.stored_constants import stored_constants, total_size
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.figures import build_report
from serenity_mlir.pipelines.global_flags import set_checked_global_flags
from serenity_mlir.pipelines.importing.diagnose import explain_legalization_failure
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.importing.unsigned_results import declare_unsigned_results
from serenity_mlir.pipelines.iree_api import Program, Session, split_flags
from serenity_mlir.pipelines.iree_types import CompilerError
from serenity_mlir.pipelines.lower import lower_to, with_alignment
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions, RewrittenLowering
from serenity_mlir.pipelines.lower_stream import StreamOptions, StreamResult
from serenity_mlir.pipelines.parse_mlir import parse_module
from serenity_mlir.pipelines.phases import PHASES
from serenity_mlir.pipelines.scratch import note_stage
from serenity_mlir.pipelines.targets import DEFAULT_TARGET, compiler_flags
from serenity_mlir.report import Report

_KEEP_F64 = "--iree-input-demote-f64-to-f32=false"


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
        rewrite: Which rewrites may be chosen.
        stream: Order and arena.
        symbol: What to name the module, and so what the compiled library is called; empty for as it came.
        debug_info: Print locations with IR.
        progress: Called with the name of each stage as it begins.
    """

    emit: Literal["vmfb", "mlir"] = "vmfb"
    phase: str = "stream"
    target: str = DEFAULT_TARGET
    iree_flags: Sequence[str] = ()
    rewrite: RewriteOptions = field(default_factory=RewriteOptions)
    stream: StreamOptions = field(default_factory=StreamOptions)
    symbol: str = ""
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
    module = _module(source, session)
    own = stored_constants(module)
    if options.symbol:
        module.attributes["sym_name"] = ir.StringAttr.get(options.symbol, session.context)
    program = session.program(module, file=str(path))
    imported = perf_counter()
    last = "end" if options.emit == "vmfb" else options.phase
    stream = with_alignment(options.stream, options.iree_flags)
    try:
        declare_unsigned(program, source, last)
        if not options.rewrite.stages or PHASES.index(last) < PHASES.index("stream"):
            choice = None
            lowered = lower_to(program, last, stream, progress)
        else:
            lowering = RewrittenLowering(program, last, options.rewrite, stream, progress, total_size(own))
            program, choice, lowered = lowering.run()
    except CompilerError as error:
        raise explained(error, source) from error
    if lowered is None:
        return Compiled(source, program, None, None)
    report = build_report(
        source,
        options.target,
        lowered,
        (imported - began, perf_counter() - began),
        choice,
        own=own,
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
