"""`serenity-opt`: mlir-opt's command line over MLIR's passes and ours."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, NoReturn

from serenity_mlir.dialect_passes.diagnostics import Diagnostic, Severity, collecting, of_mlir
from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.dialect_passes.pipeline_text import parse_pipeline
from serenity_mlir.errors import EXIT_ERROR, SerenityError, UsageError
from serenity_mlir.pipelines.atomic_file import atomic_write
from serenity_mlir.pipelines.expected_diagnostics import mismatches, parse_expected
from serenity_mlir.pipelines.opt_text import (
    BYTECODE,
    SPLIT_MARKER,
    Chunk,
    Reporter,
    describe_passes,
    split_chunks,
)
from serenity_mlir.pipelines.pass_runner import PassRunner, PrintStyle
from serenity_mlir.pipelines.scratch import note_stage, read_input
from serenity_mlir.suggest import did_you_mean

_SWITCHES = {
    "--verify-each": (True, "verify IR after each pass (default)"),
    "--allow-unregistered-dialect": (False, "parse ops of unknown dialects"),
    "--no-implicit-module": (False, "the one top-level op is the root"),
    "--mlir-print-ir-before-all": (False, "print IR to stderr before each pass"),
    "--mlir-print-ir-after-all": (False, "print IR to stderr after each pass"),
    "--mlir-print-op-generic": (False, "print ops in generic form"),
    "--mlir-print-debuginfo": (False, "print locations"),
}

_Keep = Callable[[Diagnostic], None]


class OptMain:
    """The driver. Subclass it to add arguments, dialects or passes.

    Args:
        argv: Arguments without the program's name.
    """

    prog: ClassVar[str] = "serenity-opt"

    def __init__(self, argv: Sequence[str]) -> None:
        parser = _Parser(prog=self.prog, description=__doc__, allow_abbrev=False, add_help=True)
        self.register_arguments(parser)
        self.args, self.shorthands = parser.parse_known_args([_normalised(argument) for argument in argv])
        self.flags = [flag for action in parser._actions for flag in action.option_strings]
        self.pipeline = self._pipeline(self.shorthands)
        self.reporter = Reporter(sys.stderr, "<stdin>" if self.args.input == "-" else self.args.input)

    def register_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments; a flag that stays unknown is taken for a pass."""
        add = parser.add_argument
        add("input", nargs="?", default="-", metavar="FILE", help="MLIR text or bytecode, - for stdin")
        add("-o", dest="output", default="-", metavar="FILE", help="where IR goes, - for stdout")
        add("--pass-pipeline", metavar="TEXT", help="such as 'builtin.module(cse,serenity-…{key=value})'")
        add("--show-passes", action="store_true", help="list our passes with their options")
        add(
            "--split-input-file",
            action="store_true",
            help=f"process what stands between '{SPLIT_MARKER}' alone",
        )
        add(
            "--verify-diagnostics",
            nargs="?",
            const="all",
            choices=("all", "only-expected"),
            help="check messages against expected-… comments",
        )
        for flag, (default, text) in _SWITCHES.items():
            add(flag, action=_Switch, default=default, metavar="BOOL", help=text)
        add("--mlir-elide-elementsattrs-if-larger", type=int, metavar="N", help="leave large constants out")

    def make_context(self) -> ir.Context:
        """A context in which the input parses."""
        return make_context(allow_unregistered=self.args.allow_unregistered_dialect)

    def run(self) -> int:
        """Do what the arguments say; the exit status.

        Raises:
            SerenityError: The input cannot be read, the output cannot be written, or the
                pipeline is wrong. What is wrong with the IR is reported instead.
        """
        if self.args.show_passes:
            sys.stdout.write(describe_passes())
            return 0
        runner = self._runner()
        done = [self.process(chunk, runner) for chunk in self._read()]
        ok = all(good for good, _ in done)
        if ok or self.args.output == "-":
            self._write(f"{SPLIT_MARKER}\n".join(text for _, text in done))
        return 0 if ok else EXIT_ERROR

    def process(self, chunk: Chunk, runner: PassRunner) -> tuple[bool, str]:
        """Parse a chunk, run the passes, and verify diagnostics where asked to.

        Returns:
            Whether all went as it should, and the IR to be printed, empty where there is none.
        """
        got: list[Diagnostic] = []
        keep = got.append if self.args.verify_diagnostics else self.reporter.show
        text = self._transform(chunk, runner, keep)
        if not self.args.verify_diagnostics:
            return text is not None, text or ""
        source = chunk.source if isinstance(chunk.source, str) else ""
        try:
            expected = parse_expected(source, chunk.first_line)
        except ValueError as error:
            raise SerenityError(
                f"a regular expression does not compile: {error}", file=self.reporter.name
            ) from error
        only = self.args.verify_diagnostics == "only-expected"
        wrong = mismatches(expected, got, file=self.reporter.name, only_expected=only)
        for item in wrong:
            self.reporter.show(item)
        return not wrong, text or ""

    def parse(self, chunk: Chunk, context: ir.Context) -> ir.Operation | None:
        """The root op; None where it does not parse, after diagnostics went to the handlers."""
        note_stage("parse")
        source = chunk.padded
        try:
            if self.args.no_implicit_module:
                op = ir.Operation.parse(source, source_name=self.reporter.name, context=context)
                return op.operation
            if self.args.input != "-" and not self.args.split_input_file:
                return ir.Module.parseFile(self.args.input, context).operation
            return ir.Module.parse(source, context).operation
        except ir.MLIRError:
            return None

    def _transform(self, chunk: Chunk, runner: PassRunner, keep: _Keep) -> str | None:
        context = self.make_context()
        context.emit_error_diagnostics = True  # to the handler, in order with the rest
        errors: list[Exception] = []
        told: set[Severity] = set()

        def tell(diagnostic: Diagnostic) -> None:
            told.add(diagnostic.severity)
            keep(diagnostic)

        def handle(diagnostic: ir.Diagnostic) -> bool:
            try:
                tell(of_mlir(diagnostic))
            except Exception as error:  # an exception must not cross C++
                errors.append(error)
            return True

        context.attach_diagnostic_handler(handle)
        text = None
        with collecting(keep):
            root = self.parse(chunk, context)
            if root is not None and self._passes(runner, root, tell):
                text = self.style.text(root) + "\n"
        if errors:
            raise errors[0]
        if text is None and Severity.ERROR not in told:
            keep(Diagnostic(Severity.ERROR, f"{self.reporter.name}: MLIR refuses this and does not say why"))
        return text

    def _passes(self, runner: PassRunner, root: ir.Operation, keep: _Keep) -> bool:
        try:
            runner.run(root)
        except ir.MLIRError:
            return False  # the handler has the reason
        except UsageError:
            raise
        except SerenityError as error:
            keep(Diagnostic(Severity.ERROR, str(error)))
            return False
        return True

    @property
    def style(self) -> PrintStyle:
        """How IR is printed."""
        return PrintStyle(
            debuginfo=self.args.mlir_print_debuginfo,
            generic=self.args.mlir_print_op_generic,
            elide_larger=self.args.mlir_elide_elementsattrs_if_larger,
        )

    def _runner(self) -> PassRunner:
        source, text = self.pipeline
        runner = PassRunner(
            parse_pipeline(text, source=source) if text else [],
            log=sys.stderr,
            verify_each=self.args.verify_each,
            print_before=self.args.mlir_print_ir_before_all,
            print_after=self.args.mlir_print_ir_after_all,
            style=self.style,
        )
        if runner.runs:
            try:
                runner.check(self.make_context(), text, source=source)
            except UsageError as error:
                meant = next(filter(None, (did_you_mean(flag, self.flags) for flag in self.shorthands)), None)
                if meant is None:
                    raise
                raise UsageError(error.message, where=error.where, hint=meant) from error
        return runner

    def _pipeline(self, rest: Sequence[str]) -> tuple[str, str]:
        """What errors call the pipeline, and its text; `rest` are flags that name passes."""
        given: str | None = self.args.pass_pipeline
        for argument in rest:
            if not argument.startswith("--"):
                raise UsageError(f"one input file is enough, '{argument}' is another")
        if not rest:
            return "--pass-pipeline", given or ""
        if given is not None:
            raise UsageError(
                f"'{rest[0]}' and --pass-pipeline are two pipelines", hint="put it into the text"
            )
        return "passes", f"builtin.module({','.join(_element(argument) for argument in rest)})"

    def _read(self) -> list[Chunk]:
        try:
            data = read_input(self.args.input)
        except OSError as error:
            raise SerenityError(f"cannot be read: {error.strerror}", file=self.reporter.name) from error
        if data.startswith(BYTECODE):
            return [Chunk(data)]
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise SerenityError(
                f"neither MLIR text nor bytecode: byte {error.start} is not UTF-8", file=self.reporter.name
            ) from error
        self.reporter.lines = text.split("\n")
        return split_chunks(text) if self.args.split_input_file else [Chunk(text)]

    def _write(self, text: str) -> None:
        try:
            if self.args.output == "-":
                sys.stdout.buffer.write(text.encode())
                sys.stdout.buffer.flush()
                return
            with atomic_write(Path(self.args.output)) as file:
                file.write(text.encode())
        except BrokenPipeError:
            raise
        except OSError as error:
            name = "<stdout>" if self.args.output == "-" else self.args.output
            raise SerenityError(f"cannot be written: {error.strerror}", file=name) from error


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help lists the arguments")


class _Switch(argparse.Action):
    """A flag that may say `=false`, as LLVM's do."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if values not in ("true", "1", "false", "0"):
            parser.error(f"{option_string} wants true or false, not '{values}'")
        setattr(namespace, self.dest, values in ("true", "1"))


def _normalised(argument: str) -> str:
    """`-split-input-file` as `--split-input-file`, and `--verify-each` as `--verify-each=true`."""
    if argument.startswith("-") and not argument.startswith(("--", "-o")) and len(argument) > 2:
        argument = f"-{argument}"
    return f"{argument}=true" if argument in _SWITCHES else argument


def _element(argument: str) -> str:
    """`--name=key=value` as an element of a pipeline, `name{key=value}`."""
    name, _, options = argument.removeprefix("--").partition("=")
    return f"{name}{{{options}}}" if options else name


def main(argv: Sequence[str] | None = None) -> int:
    """`serenity-opt` with `argv` (by default the process's arguments); its exit status."""
    try:
        return OptMain(sys.argv[1:] if argv is None else argv).run()
    except SerenityError as error:
        sys.stderr.write(f"{OptMain.prog}: error: {error}\n")
        return error.exit_status
    except BrokenPipeError:  # a reader such as `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR


if __name__ == "__main__":
    sys.exit(main())
