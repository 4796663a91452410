"""Do what is to be done, keep each result as it comes, and sum up."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from serenity_mlir.errors import SerenityError
from serenity_mlir.executors import Done, Executor
from serenity_mlir.pipelines.batch.results import Results
from serenity_mlir.pipelines.batch.task import Outcome, Task, run_task
from serenity_mlir.pipelines.cli.captured import Failure, failure_of
from serenity_mlir.report import Report


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task in the summary; sizes are arenas, in bytes, None where they are not constant.

    Attributes:
        model: The file.
        target: Where it will run.
        result: The file of its result, without suffix.
        seconds: Wall time of the analysis.
        file_order: Before scheduling.
        final: After it.
        optimal: Whether that is proven to be the least.
        error: Why there is no result.
    """

    model: str
    target: str
    result: str
    seconds: float
    file_order: int | None = None
    final: int | None = None
    optimal: bool = False
    error: Failure | None = None


def run_batch(
    tasks: Sequence[Task],
    results: Results,
    executor: Callable[[], Executor],
    progress: Callable[[str], None],
) -> list[Row]:
    """Run the tasks whose results are not there yet.

    Args:
        tasks: Each once.
        results: Where results are kept, and known again.
        executor: Makes what runs tasks; called only where there are any to run.
        progress: Called with words about how far it is.

    Returns:
        A row for each task, in their order; `summary.json` holds the same.

    Raises:
        OSError: A result cannot be written.
    """
    rows: dict[Task, Row] = {}
    for task in tasks:
        progress(f"looking for results: {task.model}")
        report = results.report(task)
        if report is not None:
            rows[task] = _row(task, results, report)
    todo = [task for task in tasks if task not in rows]
    if todo:
        used = executor()
        try:
            _run(todo, results, used, rows, partial(_say, progress, len(tasks), rows))
        finally:
            used.close()
    ordered = [rows[task] for task in tasks]
    results.summarize(ordered)
    return ordered


def _run(
    tasks: Sequence[Task],
    results: Results,
    executor: Executor,
    rows: dict[Task, Row],
    say: Callable[[], None],
) -> None:
    say()
    for end in executor.map_as_completed(partial(run_task, folder=os.getcwd()), tasks):
        task = tasks[end.index]
        outcome = end.value if isinstance(end, Done) else Outcome(None, _lost(end.error), 0.0, {})
        report = results.keep(task, outcome)
        if report is not None:
            rows[task] = _row(task, results, report)
        else:
            rows[task] = Row(
                task.model, task.target, results.name(task), outcome.seconds, error=outcome.failure
            )
        say()


def _lost(error: Exception) -> Failure:
    """Where not the task but what ran it failed."""
    if isinstance(error, SerenityError):
        return failure_of(error)
    return Failure(
        f"{type(error).__name__}: {error}",
        hint="what ran this task failed, not the model",
        details="".join(traceback.format_exception(error)),
    )


def _row(task: Task, results: Results, report: Report) -> Row:
    memory = report.memory
    return Row(
        task.model,
        task.target,
        results.name(task),
        report.seconds.total,
        memory.file_order.arena,
        memory.final.arena,
        memory.optimal,
    )


def _say(progress: Callable[[str], None], total: int, rows: dict[Task, Row]) -> None:
    failed = sum(row.error is not None for row in rows.values())
    progress(f"{len(rows)} of {total} done{f', {failed} failed' if failed else ''}")
