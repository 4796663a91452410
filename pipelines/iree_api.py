"""The only module that touches IREE's compiler API.

One process can set global flags once; everything else is per session. A `Program` is one
MLIR module on its way through IREE's phases: step it to a phase, change the module with
Python passes, run textual pipelines on it, resume. Diagnostics are collected as text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from iree.compiler.api import ctypes_dl as api

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.iree_types import (
    CompilerError,
    Diagnostic,
    Settings,
    Source,
    dump_stem,
    flag_name,
    quoted,
    single_threaded,
)
from serenity_mlir.pipelines.phases import PHASES

_CONST_EVAL = "iree-opt-const-eval"
_SEVERITIES = ("note", "warning", "error", "remark")
_DIAGNOSTIC_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def _library() -> Any:
    library = api._dylib
    for name, restype, argtypes in (
        ("ireeCompilerInvocationSetCompileFromPhase", None, [ctypes.c_void_p, ctypes.c_char_p]),
        ("ireeCompilerInvocationSetCompileToPhase", None, [ctypes.c_void_p, ctypes.c_char_p]),
        (
            "ireeCompilerInvocationEnableCallbackDiagnostics",
            None,
            [ctypes.c_void_p, ctypes.c_int, _DIAGNOSTIC_CALLBACK, ctypes.c_void_p],
        ),
        ("ireeCompilerInvocationSetVerifyIR", None, [ctypes.c_void_p, ctypes.c_bool]),
        ("ireeCompilerInvocationSetDumpCompilationPhasesTo", None, [ctypes.c_void_p, ctypes.c_char_p]),
        ("ireeCompilerInvocationSetupRemarks", None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]),
        ("ireeCompilerInvocationOutputVMCSource", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = restype, argtypes
    return library


def split_flags(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sort iree-compile flags into those of a session and those of the process."""
    with api.Session() as probe:
        known = {flag_name(flag) for flag in probe.get_flags()}
    session = [flag for flag in flags if flag_name(flag) in known]
    return session, [flag for flag in flags if flag_name(flag) not in known]


_global_flags_set = False


def set_global_flags(flags: Sequence[str], program: str = "serenity") -> None:
    """Set flags of the whole process: at most once, and before the first session.

    LLVM's own parser reads them: an unknown one ends the process with status 1 and a
    message on stderr, in which the process goes by the name `program`. Flags of a session may
    be among them: they are the defaults of all sessions to come.
    """
    global _global_flags_set  # noqa: PLW0603  (LLVM's command line is per process too)
    if _global_flags_set:
        raise RuntimeError("IREE's global flags can be set only once in a process")
    _global_flags_set = True
    api._initializeGlobalCL(program, *flags)


class Session:
    """A compiler session: a set of flags and an MLIR context with all of IREE's dialects."""

    def __init__(self, flags: Sequence[str] = ()) -> None:
        self._session = api.Session()
        try:
            if flags:
                self._session.set_flags(*flags)
        except ValueError as error:
            raise UsageError(f"iree-compile does not take these flags: {error}") from error
        self.context: ir.Context = self._session.context
        self.context.load_all_available_dialects()

    def flag(self, name: str) -> str:
        """The present value of the session flag `name` (without dashes)."""
        for flag in self._session.get_flags():
            key, _, value = flag.partition("=")
            if key.lstrip("-") == name:
                return str(value)
        raise KeyError(name)

    @contextmanager
    def unevaluated(self) -> Iterator[bool]:
        """Constants that IREE hoists are not evaluated meanwhile; yields whether they would have been."""
        evaluated = self.flag(_CONST_EVAL) == "true"
        if evaluated:
            self._session.set_flags(f"--{_CONST_EVAL}=false")
        try:
            yield evaluated
        finally:
            if evaluated:
                self._session.set_flags(f"--{_CONST_EVAL}=true")

    def program(
        self,
        module: ir.Operation | Source,
        *,
        file: str | None = None,
        phase: str = "start",
        settings: Settings | None = None,
    ) -> Program:
        """A program on `module`, which has been through `phase`.

        Raises:
            CompilerError: The module does not verify, or its source does not parse.
        """
        return Program(self, module, file=file, phase=phase, settings=settings or Settings())


class Program:
    """A module on its way through the phases. After a `CompilerError` it is spent."""

    def __init__(  # noqa: PLR0913  (what `Session.program` takes, and the fork's origin)
        self,
        session: Session,
        module: ir.Operation | Source,
        *,
        file: str | None,
        phase: str,
        settings: Settings,
        fork_of: Program | None = None,
    ) -> None:
        self.session = session
        self.file = file
        self.phase = phase
        # A context hands a message to its newest handler, so a fork listens through the first.
        self.diagnostics: list[Diagnostic] = fork_of.diagnostics if fork_of else []
        self._listener = fork_of
        self._settings = settings
        self._library = _library()
        self._invocation = session._session.invocation()
        self._callback = _DIAGNOSTIC_CALLBACK(self._collect)
        self._configure(listen=fork_of is None)
        self.module = self._take(module)

    def _configure(self, *, listen: bool) -> None:
        library, invocation, settings = self._library, self._invocation._inv_p, self._settings
        if listen and settings.console:
            self._invocation.enable_console_diagnostics()
        elif listen:
            library.ireeCompilerInvocationEnableCallbackDiagnostics(invocation, 0, self._callback, None)
        library.ireeCompilerInvocationSetVerifyIR(invocation, settings.verify)
        library.ireeCompilerInvocationSetDumpCompilationPhasesTo(invocation, settings.dump_phases_to.encode())
        if settings.remarks_filter:
            library.ireeCompilerInvocationSetupRemarks(
                invocation, settings.remarks_filter.encode(), settings.remarks_file.encode()
            )

    def _take(self, module: ir.Operation | Source) -> ir.Operation:
        if isinstance(module, Source):
            source = api.Source.wrap_buffer(self.session._session, module.buffer, buffer_name=module.name)
            if not self._invocation.parse_source(source):
                raise self._failure("the module does not parse")
            return self._invocation.export_module()
        try:
            self._invocation.import_module(module)
        except RuntimeError as error:
            raise self._failure("the module does not verify") from error
        return module

    def _collect(self, severity: int, text: int, length: int, _data: object) -> None:
        message = ctypes.string_at(text, length).decode("utf-8", "replace")
        self.diagnostics.append(Diagnostic(_SEVERITIES[severity], message))

    def to_phase(self, phase: str) -> None:
        """Compile on to the end of `phase`.

        Raises:
            CompilerError: IREE failed; the message is its first error.
        """
        if PHASES.index(phase) <= PHASES.index(self.phase):
            raise ValueError(f"the program is past phase {phase!r} already: {self.phase!r}")
        invocation = self._invocation._inv_p
        self._library.ireeCompilerInvocationSetCompileFromPhase(invocation, self.phase.encode())
        self._library.ireeCompilerInvocationSetCompileToPhase(invocation, phase.encode())
        if not self._invocation.execute():
            raise self._failure(f"IREE failed on the way from phase {self.phase} to {phase}")
        self.phase = phase

    def run(self, pipeline: str) -> None:
        """Run a textual pipeline whose passes nest under the module (no `builtin.module(…)`).

        Raises:
            CompilerError: A pass failed or the text does not parse.
        """
        if not self._invocation.execute_text_pass_pipeline(pipeline):
            raise self._failure(f"the pipeline {pipeline!r} failed")

    def reached(self, phase: str) -> None:
        """Note that pipelines brought the module to the end of `phase`, and dump it if that is wanted.

        Raises:
            CompilerError: The dump cannot be written.
        """
        self.phase = phase
        if self._settings.dump_phases_to:
            file = f"{dump_stem(self.module)}.{PHASES.index(phase)}.{phase}.mlir"
            path = Path(self._settings.dump_phases_to, file)
            self.run(f"iree-util-dump-module{{path={quoted(str(path))}}}")

    def fork(self, *, verify: bool = True) -> Program:
        """An independent copy of the program as it is now, which dumps nothing.

        What the compiler says of it is among the diagnostics of this program, which it keeps alive.

        Args:
            verify: Verify after each pass, as this program does; that takes a third of the time.
        """
        return Program(
            self.session,
            self.module.clone(),
            file=self.file,
            phase=self.phase,
            settings=Settings(console=self._settings.console, verify=verify and self._settings.verify),
            fork_of=self,
        )

    def verify(self) -> None:
        """Verify the module.

        Raises:
            CompilerError: It does not verify.
        """
        try:
            self.module.verify()
        except ir.MLIRError as error:
            raise CompilerError(f"the module does not verify: {error}", [], file=self.file) from error

    def print_ir(self, *, debug_info: bool = False, generic: bool = False) -> str:
        """The module as text."""
        with single_threaded(self.session.context):
            return str(self.module.get_asm(enable_debug_info=debug_info, print_generic_op_form=generic))

    def text(self) -> str:
        """The module as iree-compile prints it, to the style that global flags set."""
        with single_threaded(self.session.context), _output() as output:
            self._invocation.output_ir(output)
            return _contents(output).decode()

    def bytecode(self, version: int = -1) -> bytes:
        """The module as MLIR bytecode, by default of the newest version.

        Raises:
            CompilerError: There is no such version.
        """
        with _output() as output:
            try:
                self._invocation.output_ir_bytecode(output, version)
            except ValueError as error:
                raise self._failure(f"the module cannot be written: {error}") from error
            return _contents(output)

    def vm_bytecode(self) -> bytes:
        """The `.vmfb` file.

        Raises:
            CompilerError: The program has not been through phase `end`, or cannot be serialised.
        """
        with _output() as output:
            try:
                self._invocation.output_vm_bytecode(output)
            except ValueError as error:
                raise self._failure(f"the program cannot be written as a .vmfb: {error}") from error
            return _contents(output)

    def vm_c_source(self) -> bytes:
        """The program as C source; global flags must have been set before.

        Raises:
            CompilerError: The program has not been through phase `end`, or C cannot express it.
        """
        with _output() as output:
            failed = self._library.ireeCompilerInvocationOutputVMCSource(
                self._invocation._inv_p, output._output_p
            )
            try:
                api._handle_error(failed)
            except ValueError as error:
                raise self._failure(f"the program cannot be written as C: {error}") from error
            return _contents(output)

    def close(self) -> None:
        """Free the invocation; the module lives on."""
        self._invocation.close()

    def _failure(self, what: str) -> CompilerError:
        errors = [item for item in self.diagnostics if item.severity == "error"]
        others = [item for item in self.diagnostics if item.severity != "error"]
        silent = what if self._settings.console else f"{what} without saying why"
        message = errors[0].summary if errors else silent
        return CompilerError(message, [*errors, *others], file=self.file)


def _contents(output: Any) -> bytes:
    return bytes(output.map_memory())


@contextmanager
def _output() -> Iterator[Any]:
    output = api.Output.open_membuffer()
    try:
        yield output
    finally:
        output.close()
