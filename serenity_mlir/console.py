"""The only module that prints: tables, progress and errors, all to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from serenity_mlir.errors import SerenityError
from serenity_mlir.sizes import counted, size_text
from serenity_mlir.views.detail_rows import detail_tables
from serenity_mlir.views.pruning_rows import pruning_tables
from serenity_mlir.views.rows import Table, bytes_text, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from serenity_mlir.reform.report import Contribution, PruneReport
    from serenity_mlir.report import Report

# Buffers that the table of the peak shows before it sums up the rest.
_SHOWN = 8


def stderr() -> Console:
    """A console on stderr as it is now."""
    from rich.console import Console  # noqa: PLC0415  (rich takes 50 ms to import)

    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: SerenityError) -> None:
    """One message: file, place, what is wrong, a way out."""
    sys.stderr.write(f"error: {error}\n")


def print_note(text: str) -> None:
    """Something that the user should know and that is no fault."""
    sys.stderr.write(f"note: {text}\n")


def print_line(text: str) -> None:
    """A result that fits one line."""
    sys.stderr.write(f"{text}\n")


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of figures, none of them cut short; the first column is what they belong to."""
    _print(Table(title, tuple(headings), tuple(map(tuple, rows)), frozenset()))


def print_tables(shown: Sequence[Table]) -> None:
    """Tables; their columns of text are cut short where the terminal is too narrow."""
    for table in shown:
        _print(table)


def _print(shown: Table) -> None:
    from serenity_mlir.views.rich_tables import WIDEST, rich_table  # noqa: PLC0415  (as above)

    console = stderr()
    table = rich_table(shown, console.width)
    console.width = WIDEST
    console.print(table)


@contextmanager
def progress(limits: Mapping[str, float] | None = None) -> Iterator[Callable[[str], None]]:
    """A callback that shows the present stage and how long it takes, on a terminal only.

    Args:
        limits: Seconds that searches are given, by stage. What others take nobody knows beforehand.
    """
    console = stderr()
    if not console.is_terminal:
        yield lambda _stage: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415  (as above)

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[limit]}"),
    )
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("import", total=None, limit="")

        def stage(name: str) -> None:
            seconds = (limits or {}).get(name)
            limit = "" if seconds is None else f"limit {seconds:g} s"
            shown.reset(task, description=name, limit=limit)
            shown.refresh()

        yield stage


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None]]:
    """A callback that shows the present stage and the share of it that is done, on a terminal only."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn  # noqa: PLC0415  (as above)
    from rich.progress import TimeElapsedColumn as Elapsed  # noqa: PLC0415

    console = stderr()
    if not console.is_terminal:
        yield lambda _stage, _share: None
        return
    columns = (BarColumn(), TaskProgressColumn(), Elapsed(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda stage, share: bar.update(task, description=stage, completed=share)


def print_report(report: Report, *, traffic: bool = False, dispatches: bool = False) -> None:
    """The before/after table of one compilation, off-chip traffic and dispatches only where asked for."""
    console = stderr()
    print_tables([*tables(report), *detail_tables(report, traffic=traffic, dispatches=dispatches)])
    schedule, seconds = report.schedule, report.seconds
    print_line(
        f"{counted(schedule.ops, 'op')}, order by {schedule.method}, {counted(schedule.states, 'state')}"
    )
    print_line(
        f"{seconds.schedule:.2f} s scheduling, {seconds.arena:.2f} s planning, {seconds.iree:.2f} s IREE, "
        f"{seconds.total:.2f} s in all"
    )
    if report.verify is not None:
        state = "agrees with" if report.verify.passed else "DIFFERS from"
        console.print(
            f"{state} {report.verify.reference}: largest difference {report.verify.max_abs:.3g} "
            f"absolute, {report.verify.max_rel:.3g} relative",
            markup=False,
        )
    _print_rewrites(console, report)
    for candidate in report.search:
        taken = (
            "taken" if candidate.taken else f"IREE fails: {candidate.fault[:60]} …" if candidate.fault else ""
        )
        flags = " ".join(candidate.flags) or "IREE's default"
        console.print(f"  {bytes_text(candidate.arena):>16}  {flags}  {taken}".rstrip(), markup=False)
    _print_grown(console, report)
    for warning in report.warnings:
        console.print(f"warning: {warning}", markup=False)


def _print_rewrites(console: Console, report: Report) -> None:
    for rewrite in report.rewrites[:_SHOWN]:
        saved = "" if rewrite.saved is None else f", without which {size_text(rewrite.saved)} more"
        console.print(f"  {rewrite.pattern} at {rewrite.location}{saved}", markup=False)
    if len(report.rewrites) > _SHOWN:
        console.print(f"  and {counted(len(report.rewrites) - _SHOWN, 'more rewrite')}", markup=False)
    if report.untried:
        untried = counted(report.untried, "further rewrite")
        console.print(f"  not tried, as --rewrite-limit came first: {untried}", markup=False)


def _print_grown(console: Console, report: Report) -> None:
    rom = report.rom
    if rom is None or not rom.grown:
        return
    console.print(
        f"constants take {size_text(rom.stored)}, the model's own {size_text(rom.model)}", markup=False
    )
    for item in rom.grown[:_SHOWN]:
        console.print(f"  {item.size:>12,}  {item.name} [{item.location}]: {item.reason}", markup=False)
    if len(rom.grown) > _SHOWN:
        console.print(f"  and {len(rom.grown) - _SHOWN} more", markup=False)


def print_pruning(report: PruneReport) -> None:
    """For each variant a table of what it takes beside its budgets and the unpruned model."""
    scores = report.calibration
    for variant, table in zip(report.variants, pruning_tables(report), strict=True):
        print_tables([table])
        print_line(
            f"equals {variant.proof.reference}: largest difference {variant.proof.max_abs:.3g} absolute, "
            f"{variant.proof.max_rel:.3g} relative, on calibration data"
        )
        for item in variant.stays[:_SHOWN]:
            print_line(f"  {counted(item.channels, 'channel')} of '{item.tensor}' kept: {item.reason}")
        if len(variant.stays) > _SHOWN:
            print_line(f"  and others of {counted(len(variant.stays) - _SHOWN, 'tensor')}")
    if report.family is not None:
        (alone, together), (code_alone, code) = report.family.weights, report.family.code
        print_line(
            f"one artefact of {len(report.variants)} variants: weights {size_text(together)}, "
            f"{together / max(alone, 1):.3f}x the largest variant's; code {size_text(code)}, the largest's "
            f"{size_text(code_alone)}; {report.family.slice_copies} copies of slices, "
            f"{size_text(report.family.copied)}"
        )
    print_line(
        f"{scores.measure}: {scores.meaning}; {counted(scores.samples, 'sample')}, run by {scores.engine}"
    )
    print_line(f"channels ranked by {_ranking(report.contribution)}; {report.seconds:.1f} s in all")
    for warning in report.warnings:
        print_line(f"warning: {warning}")


def _ranking(made: Contribution) -> str:
    if made.estimate in ("magnitude", "random"):
        return made.estimate
    if made.estimate == "trained":
        return (
            f"gates, trained by ADMM on {counted(made.samples, 'sample')} in {counted(made.rounds, 'round')}"
        )
    how = {"gradient": "gradients", "ablation": "ablation"}[made.estimate]
    several = f", {made.together} channels at once" if made.together > 1 else ""
    return f"{how}, on {counted(made.samples, 'sample')} in {counted(made.rounds, 'round')}{several}"
