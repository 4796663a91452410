"""What the commands do, once their options are parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from serenity_mlir import console
from serenity_mlir.dialect_passes.stream.schedule_execution import ARENA, EXTERNAL
from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.pipelines.arena_csv import arena_csv
from serenity_mlir.pipelines.cli.budgets import Budgets
from serenity_mlir.pipelines.cli.finish import Finish
from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs
from serenity_mlir.pipelines.cli.views import check_views, view_makers
from serenity_mlir.pipelines.compile import Compiled, CompileOptions, compile_model
from serenity_mlir.pipelines.iree_api import split_flags
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.phases import PHASES
from serenity_mlir.pipelines.search_fusion import compile_smallest
from serenity_mlir.report import Report


def run_compile(  # noqa: PLR0913  (one parameter an option of the command)
    *,
    model: Path,
    output: Path,
    emit: Literal["vmfb", "mlir", "firmware"],
    name: str | None,
    phase: str,
    target: str,
    time_limit: float,
    method: str,
    no_schedule: bool,
    no_arena: bool,
    io: str | None,
    search: str | None,
    no_rewrite: bool,
    no_regions: bool,
    exact: bool,
    objective: str,
    rewrite_limit: float,
    compare_stock: bool,
    timeline: bool,
    verify: bool,
    report: Path | None,
    budget_ram: int | None,
    budget_rom: int | None,
    sarif_path: Path | None,
    iree_flags: Sequence[str],
    debug: bool,
) -> None:
    """`serenity compile`."""
    about_figures = {
        "--report": report,
        "--budget-ram": budget_ram,
        "--budget-rom": budget_rom,
        "--sarif": sarif_path,
        "--compare-stock": compare_stock or None,
    }
    _check_phase(phase, emit, about_figures)
    if verify and emit != "vmfb":
        raise UsageError("--verify runs the compiled module", hint=f"leave out --emit {emit}")
    if name is not None and emit != "firmware":
        raise UsageError("--name is for firmware", hint="say --emit firmware")
    _check_packing(io, no_arena=no_arena)
    _check_timeline(timeline, "--report", report)
    more = [path for path in (report, sarif_path) if path is not None]
    if emit == "firmware" and output in more:  # a folder, which is checked as one
        raise UsageError("two outputs have one name", hint="give each its own")
    check_outputs([*([] if emit == "firmware" else [output]), *more], [model])
    io = io or (ARENA if emit == "firmware" else EXTERNAL)
    options = StreamOptions(not no_schedule, not no_arena, time_limit, compare_stock, io=io, method=method)
    made = CompileOptions(
        emit="vmfb" if emit == "firmware" else emit,
        phase=phase,
        target=target,
        iree_flags=iree_flags,
        rewrite=_rewriting(no_rewrite, no_regions, exact, objective, rewrite_limit),
        stream=options,
        debug_info=debug,
    )
    budgets = Budgets(budget_ram, budget_rom)
    measure = None if search else partial(_measured, model)
    finish = Finish(output, made, budgets, report, timeline, sarif_path, measure)
    if emit == "firmware":
        from serenity_mlir.pipelines.cli.firmware import firmware_library  # noqa: PLC0415  (heavy)

        library, write_library = firmware_library(model, output, name, made, compiler=_compiler(search))
        finish(library, write_library)
        return
    with console.progress(_limits(time_limit, rewrite_limit)) as progress:
        compiled = _compiler(search)(model, replace(made, progress=progress))
        artefact = _artefact(compiled, emit, output)
        figures = compiled.report
        if verify and figures is not None:
            from serenity_mlir.pipelines.verify import verify as check  # noqa: PLC0415  (heavy)

            progress("verify")
            figures = msgspec.structs.replace(figures, verify=check(artefact, compiled.source))
    if figures is None:
        write_outputs({output: artefact})
        return
    if figures.verify is not None and not figures.verify.passed:
        console.print_report(figures)
        raise SerenityError(
            f"the compiled module and {figures.verify.reference} disagree: nothing is written",
            file=str(model),
            hint="please report this model",
        )
    finish(figures, lambda beside: write_outputs({output: artefact, **beside}))


def run_analyze(  # noqa: PLR0913
    *,
    model: Path,
    target: str,
    time_limit: float,
    method: str,
    no_schedule: bool,
    no_arena: bool,
    io: str | None,
    search: str | None,
    no_rewrite: bool,
    no_regions: bool,
    exact: bool,
    objective: str,
    rewrite_limit: float,
    compare_stock: bool,
    timeline: bool,
    json_path: Path | None,
    csv_path: Path | None,
    traffic: bool,
    dispatches: bool,
    iree_flags: Sequence[str],
    debug: bool,
    **views: Path | None,
) -> None:
    """`serenity analyze`; `views` are the options of `cli.views`."""
    _check_packing(io, no_arena=no_arena)
    _check_timeline(timeline, "--json", json_path)
    if csv_path is not None and no_arena:
        raise UsageError("--csv writes the arena that is planned", hint="leave out --no-arena")
    paths = [path for path in (json_path, csv_path, *views.values()) if path is not None]
    check_outputs(paths, [model])
    check_views(views)
    io = io or EXTERNAL
    options = StreamOptions(not no_schedule, not no_arena, time_limit, compare_stock, io=io, method=method)
    with console.progress(_limits(time_limit, rewrite_limit)) as progress:
        compiled = _compiler(search)(
            model,
            CompileOptions(
                emit="mlir",
                phase="stream",
                target=target,
                iree_flags=iree_flags,
                rewrite=_rewriting(no_rewrite, no_regions, exact, objective, rewrite_limit),
                stream=options,
                progress=progress,
            ),
        )
    stream = compiled.stream
    if compiled.report is None or stream is None:
        raise RuntimeError("phase stream makes a report")
    makers: dict[Path, Callable[[], bytes]] = {}
    if json_path is not None:
        makers[json_path] = partial(compiled.report.to_json, timeline=timeline)
    if csv_path is not None:
        course = compiled.report.timeline
        makers[csv_path] = lambda: arena_csv(stream, course, file=str(model)).encode()
    makers |= view_makers(views, compiled, traffic=traffic, dispatches=dispatches)
    outputs, failures = _made(makers)
    write_outputs(outputs)
    console.print_report(compiled.report, traffic=traffic, dispatches=dispatches)
    for failure in failures[:-1]:
        console.print_error(failure)
    if failures:
        raise failures[-1]


def _made(makers: Mapping[Path, Callable[[], bytes]]) -> tuple[dict[Path, bytes], list[SerenityError]]:
    """What can be made, and why the rest cannot: dynamic sizes leave figures, but no picture."""
    outputs, failures = dict[Path, bytes](), dict[str, SerenityError]()
    for path, make in makers.items():
        try:
            outputs[path] = make()
        except SerenityError as error:
            failures.setdefault(str(error), error)
    return outputs, list(failures.values())


def _measured(model: Path, options: CompileOptions) -> Report:
    """The figures of a model with other options, after a first compilation in this process."""
    session, process = split_flags(options.iree_flags)  # flags of the process hold already
    stream = replace(options.stream, compare_stock=False)
    flags = session if process else options.iree_flags
    with console.progress() as progress:
        changed = replace(
            options, emit="mlir", phase="stream", stream=stream, iree_flags=flags, progress=progress
        )
        report = compile_model(model, changed).report
    if report is None:
        raise RuntimeError("phase stream makes a report")
    return report


def _limits(time_limit: float, rewrite_limit: float) -> dict[str, float]:
    """Seconds that stages are given; order and arena share theirs."""
    return {"choose rewrites": rewrite_limit, "schedule": time_limit, "plan the arena": time_limit}


def _rewriting(
    no_rewrite: bool, no_regions: bool, exact: bool, objective: str, limit: float
) -> RewriteOptions:
    return RewriteOptions(not no_rewrite, not no_regions, exact, objective == "balanced", limit)


def _compiler(search: str | None) -> Callable[[Path, CompileOptions], Compiled]:
    return compile_model if search is None else compile_smallest


def _check_packing(io: str | None, *, no_arena: bool) -> None:
    if io == ARENA and no_arena:
        raise UsageError(
            "--io arena plans the one arena, and --no-arena leaves packing to IREE",
            hint="leave out one of them",
        )


def _check_timeline(timeline: bool, option: str, report: Path | None) -> None:
    if timeline and report is None:
        raise UsageError("--timeline is part of the report", hint=f"say {option} FILE, too")


def _check_phase(phase: str, emit: str, about_figures: Mapping[str, object]) -> None:
    """Refuse a phase that there is not, and options about figures where it comes before there are any."""
    if emit != "mlir" and phase != "stream":  # the default
        raise UsageError("--phase is for IR", hint="say --emit mlir")
    if phase not in PHASES:
        raise UsageError(f"no phase '{phase}'", hint=f"phases are {', '.join(PHASES)}")
    given = [flag for flag, value in about_figures.items() if value is not None]
    if given and PHASES.index(phase) < PHASES.index("stream"):
        raise UsageError(
            f"{given[0]} is about figures, and phase '{phase}' comes before there are any",
            hint="stop at phase stream or later, or leave it out",
        )


def _artefact(compiled: Compiled, emit: str, output: Path) -> bytes:
    if emit == "vmfb":
        return compiled.program.vm_bytecode()
    if output.suffix == ".mlirbc":
        return compiled.program.bytecode()
    return (compiled.program.print_ir() + "\n").encode()
