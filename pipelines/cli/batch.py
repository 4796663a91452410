"""`serenity analyze` of many models: its options, and what it says at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click

from serenity_mlir import console
from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.executors import Executor, InProcess, Processes
from serenity_mlir.pipelines.batch.manifest import MANIFEST, tasks_of
from serenity_mlir.pipelines.batch.results import Results
from serenity_mlir.pipelines.batch.run import Row, run_batch
from serenity_mlir.pipelines.batch.task import Options
from serenity_mlir.pipelines.cli.group import lead_group
from serenity_mlir.pipelines.cli.views import VIEWS

# Options for one model that is analyzed alone, and those that are the batch's, not each task's.
_ONE = {"json_path", "csv_path", "traffic", "dispatches", *VIEWS}
_OWN = {"jobs", "scheduler", "output", "targets", "debug", *_ONE}


def is_batch(model: Path, targets: Sequence[str]) -> bool:
    """Whether these are many: a folder, a manifest, or a model for several targets."""
    return len(targets) > 1 or model.is_dir() or model.suffix.lower() == MANIFEST


def analyze_many(  # noqa: PLR0913  (as many as the command has)
    context: click.Context,
    *,
    model: Path,
    targets: Sequence[str],
    jobs: int | None,
    scheduler: str | None,
    output: Path,
) -> None:
    """`serenity analyze FOLDER|MANIFEST`.

    Raises:
        SerenityError: Some failed; their records say why.
    """
    for option in context.command.params:
        if option.name in _ONE and _from_command_line(context, option.name):
            raise UsageError(f"{option.opts[0]} is for one model", hint="reports go to --output DIR")
    if jobs is not None and scheduler is not None:
        raise UsageError("--jobs is for this machine, --scheduler for a cluster", hint="give one of them")
    lead_group()
    tasks = tasks_of(model, list(dict.fromkeys(targets)), partial(_options, context))
    try:
        output.mkdir(parents=True, exist_ok=True)
        results = Results(output, tasks)
        with console.progress() as progress:
            rows = run_batch(tasks, results, _executor(jobs or 1, scheduler), progress)
    except KeyboardInterrupt:
        console.print_note(
            f"interrupted: {output} keeps the results so far; the same command goes on from there"
        )
        raise click.Abort from None
    except OSError as error:
        file = str(error.filename2 or error.filename or output)
        hint = "check the folder of the results, its rights and the space left"
        raise SerenityError(error.strerror or str(error), file=file, hint=hint) from error
    _print(rows, output)


def _executor(jobs: int, scheduler: str | None) -> Callable[[], Executor]:
    if scheduler is not None:
        from serenity_mlir.executors.dask import DaskCluster  # noqa: PLC0415  (an extra)

        return partial(DaskCluster, scheduler)
    return InProcess if jobs == 1 else partial(Processes, jobs)


def _options(context: click.Context, more: Sequence[str]) -> Options:
    """The options of the command line, then `more`, without those of the batch, in one form."""
    at = list(more).index("--") if "--" in more else len(more)
    given = _given(context)
    arguments = ["-", *given.own, *more[:at], "--", *given.iree, *more[at + 1 :]]
    try:
        parsed = context.command.make_context("analyze", arguments, help_option_names=[])
    except click.UsageError as error:
        raise UsageError(error.format_message()) from error
    for option in parsed.command.params:
        if option.name in _OWN and _from_command_line(parsed, option.name):
            raise UsageError(f"{option.opts[0]} cannot be an option of one model")
    return _given(parsed)


def _given(context: click.Context) -> Options:
    """What was given on a command line, without the batch's own."""
    found: list[str] = []
    for option in context.command.params:
        name = option.name or ""
        if not isinstance(option, click.Option) or name in _OWN or not _from_command_line(context, name):
            continue
        found += [option.opts[0]] if option.is_flag else [option.opts[0], str(context.params[name])]
    return Options(tuple(found), tuple(context.params["iree_flags"]))


def _from_command_line(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _print(rows: Sequence[Row], output: Path) -> None:
    headings = ("model", "target", "file order", "final", "proven", "seconds")
    console.print_table("arena, bytes", headings, [_cells(row) for row in rows])
    failed = [(row, row.error) for row in rows if row.error is not None]
    for row, error in failed:
        message = f"{error.message} (target {row.target})"
        place = error.file or row.model
        console.print_error(SerenityError(message, file=place, where=error.where, hint=error.hint))
    if failed:
        raise SerenityError(
            f"{len(failed)} of {len(rows)} failed",
            hint=f"{output} has the details in *.error.json; the same command tries them again",
        )


def _cells(row: Row) -> tuple[str, ...]:
    if row.error is not None:
        return row.model, row.target, "", "", "failed", f"{row.seconds:.1f}"
    proven = "yes" if row.optimal else "no"
    return row.model, row.target, _bytes(row.file_order), _bytes(row.final), proven, f"{row.seconds:.1f}"


def _bytes(value: int | None) -> str:
    return "not constant" if value is None else f"{value:,}"
