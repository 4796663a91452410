"""What the drop-in does in process: one input, through phase `stream` by our passes, to its output."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import BinaryIO

from serenity_mlir import console
from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.pipelines.atomic_file import atomic_write
from serenity_mlir.pipelines.compile import declare_unsigned, explained, noted
from serenity_mlir.pipelines.dropin.command_line import DriverOptions, is_onnx, passes_stream
from serenity_mlir.pipelines.dropin.flags import SerenityFlags
from serenity_mlir.pipelines.figures import build_report
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import BYTECODE_MAGIC, Format, SourceModel
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.iree_api import Program, Session, set_global_flags
from serenity_mlir.pipelines.iree_types import CompilerError, Settings, Source, flag_value
from serenity_mlir.pipelines.lower import lower_to, with_alignment
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.scratch import note_stage, read_input
from serenity_mlir.report import Report

_STDIO = "-"
_SPLIT_MARK = b"// -----"
_FAVOR = "iree-stream-partitioning-favor"


def compile_input(options: DriverOptions, flags: SerenityFlags) -> None:
    """Compile what the command line names and write what it asks for.

    LLVM's parser ends the process with status 1 where it refuses a flag.

    Raises:
        SerenityError: The input or the output is at fault; with MLIR the diagnostics that say
            why are on stderr already.
        CheckFailed: An independent check disproved our own work.
    """
    if options.split and flags.wants_figures:
        raise UsageError("figures are those of one module", hint="leave out --split-input-file")
    set_global_flags(options.flags, "serenity-iree-compile")
    session = Session()
    note_stage("import")
    sources = _sources(options)
    run = _Run(session, options, flags)
    with _opened(options.output) as output:
        failure: SerenityError | None = None
        for source in sources:
            try:
                output.write(run.compile(source))
            except CompilerError as error:
                failure = error
        if failure is not None:
            raise failure
    run.show_figures()


class _Run:
    """One compilation, or several after one another with `--split-input-file`."""

    def __init__(self, session: Session, options: DriverOptions, flags: SerenityFlags) -> None:
        self.session = session
        self.options = options
        self.flags = flags
        self.ours = self._ours()
        self.report: Report | None = None

    def _ours(self) -> bool:
        """Whether our passes run: a host-only program has no phase `stream` to go through."""
        host_only = self.session.flag("iree-execution-model") == "host-only"
        ours = passes_stream(self.options) and not self.flags.disable and not host_only
        if ours and flag_value(self.options.flags, _FAVOR) is not None:
            console.print_note(
                f"--{_FAVOR} has no effect: the order is ours; --serenity-disable is IREE's own"
            )
        return ours

    def compile(self, source: SourceModel) -> bytes:
        """The output for one module."""
        began = perf_counter()
        program = self._program(source)
        imported = perf_counter()
        try:
            declare_unsigned(program, source, self.options.compile_to)
            if self.ours:
                self._lower(program, source, began, imported)
            else:
                program.to_phase(self.options.compile_to)
        except CompilerError as error:
            raise explained(error, source) if source.format == "onnx" else error from error
        return _emit(program, self.options)

    def _lower(self, program: Program, source: SourceModel, began: float, imported: float) -> None:
        flags, options = self.flags, self.options
        wanted = StreamOptions(flags.schedule, flags.arena, flags.time_limit, flags.compare_stock)
        lowered = lower_to(program, options.compile_to, with_alignment(wanted, options.flags), noted())
        if lowered is not None and flags.wants_figures:
            seconds = (imported - began, perf_counter() - began)
            self.report = build_report(source, "by flags", lowered, seconds, None)

    def _program(self, source: SourceModel) -> Program:
        options = self.options
        settings = Settings(
            console=source.format != "onnx",
            verify=options.verify,
            dump_phases_to=options.dump_phases_to,
            remarks_filter=options.remarks_filter,
            remarks_file=options.remarks_file,
        )
        module = (
            import_onnx(source, self.session.context)
            if source.mlir is None
            else Source(str(source.path), source.mlir)
        )
        return self.session.program(
            module, file=str(source.path), phase=options.compile_from, settings=settings
        )

    def show_figures(self) -> None:
        """Write and print the figures that are asked for."""
        if not self.flags.wants_figures:
            return
        if self.report is None:
            console.print_note("there are no figures: our passes had nothing to do")
            return
        if self.flags.report is not None:
            with _opened(str(self.flags.report)) as file:
                file.write(self.report.to_json())
        if self.flags.compare_stock:
            console.print_report(self.report)


def _sources(options: DriverOptions) -> list[SourceModel]:
    if is_onnx(options.input):
        return [load_model(Path(options.input))]
    name = "<stdin>" if options.input == _STDIO else options.input
    data = _read(options.input)
    if not options.split:
        return [_source(name, data)]
    sources, line = [], 1
    for part in data.split(_SPLIT_MARK):
        sources.append(_source(f"within split at {name}:{line} offset ", part))
        line += part.count(b"\n")
    return sources


def _source(name: str, data: bytes) -> SourceModel:
    style: Format = "mlirbc" if data.startswith(BYTECODE_MAGIC) else "mlir"
    return SourceModel(Path(name), hashlib.sha256(data).hexdigest(), style, mlir=data)


def _read(file: str) -> bytes:
    try:
        return read_input(file)
    except OSError as error:
        raise SerenityError(f"cannot open input file: {error.strerror}", file=file) from error


def _emit(program: Program, options: DriverOptions) -> bytes:
    """IR where compilation stops early or IR is the format, else what the runtime loads or C."""
    if options.compile_to != "end" or options.output_format == "vm-asm":
        return program.bytecode(options.bytecode_version) if options.bytecode else program.text().encode()
    return program.vm_c_source() if options.output_format == "vm-c" else program.vm_bytecode()


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """A file that is complete or not there at all; `-` is stdout."""
    try:
        if name == _STDIO:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        with atomic_write(Path(name)) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SerenityError(f"cannot open output file: {error.strerror}", file=name) from error
