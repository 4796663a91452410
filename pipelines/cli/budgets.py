"""Budgets that a compiled model is held to, and the ways below one that was exceeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from serenity_mlir.dialect_passes.stream.schedule_execution import ARENA
from serenity_mlir.errors import BudgetExceeded
from serenity_mlir.pipelines.cli.ways import left_out, measured_ways
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.report import Report
from serenity_mlir.sizes import size_text
from serenity_mlir.views.sarif import Finding

# Rewrites, and buffers at the peak, that are named before the rest is counted.
_SHOWN = 8
_ELSE = "else remove channels by `serenity prune`, or use a smaller model"


@dataclass(frozen=True, slots=True)
class Budgets:
    """Bytes of RAM and ROM; None is no budget."""

    ram: int | None = None
    rom: int | None = None


def findings(report: Report, budgets: Budgets) -> list[Finding]:
    """The budgets that a model exceeds, with the nodes at its peak and the constants that grew."""
    found = []
    file, memory = report.model.path, report.memory
    if budgets.ram is not None and (memory.ram is None or memory.ram > budgets.ram):
        nodes = () if report.peak is None else tuple(report.peak.nodes)
        found.append(Finding("ram-budget", _over_ram(report, budgets.ram), file, nodes))
    needed = _rom(report)
    if budgets.rom is not None and needed > budgets.rom:
        grown = (
            ()
            if report.rom is None
            else tuple(name for item in report.rom.grown for name in item.location.split(", "))
        )
        what = "weights are" if memory.code is None else "weights and code are"
        text = f"{what} {size_text(needed)}, {size_text(needed - budgets.rom)} more than the budget"
        found.append(Finding("rom-budget", f"{text} of {size_text(budgets.rom)}", file, grown))
    return found


def check_budgets(
    report: Report,
    options: CompileOptions,
    budgets: Budgets,
    *,
    searched: bool,
    measure: Callable[[CompileOptions], Report] | None = None,
) -> None:
    """Hold the figures of a model against its budgets.

    Args:
        report: The figures.
        options: What they were reached with.
        budgets: The budgets.
        searched: Whether several ways to form dispatches were tried.
        measure: Analyzes the model with other options, to tell what they would save; None to tell
            what there is without figures.

    Raises:
        BudgetExceeded: naming what is live at the peak, and what may help.
    """
    found = findings(report, budgets)
    if not found:
        return
    hints = []
    for item in found:
        if item.rule == "rom-budget":
            hints.append("for ROM: quantise the model, or remove channels by `serenity prune`")
        elif report.memory.ram is not None and budgets.ram is not None:
            hints.append(_ways_below(report, options, budgets.ram, searched=searched, measure=measure))
    text = "\n  ".join(item.message for item in found)
    raise BudgetExceeded(text, file=report.model.path, hint="\n  ".join(hints) or None)


def _rom(report: Report) -> int:
    memory = report.memory
    return memory.weights + (memory.code or 0) if memory.flash is None else memory.flash


def _over_ram(report: Report, budget: int) -> str:
    needed = report.memory.ram
    if needed is None:
        return "RAM has no constant size, so no budget can hold it"
    above, held = size_text(needed - budget), size_text(budget)
    text = f"RAM is {size_text(needed)}, {above} more than the budget of {held}"
    if report.peak is not None:
        live = [f"\n    {size_text(size):>32}  {name}" for name, size in report.peak.buffers]
        text += f"\n  live at the peak, {report.peak.op}:{''.join(live[:_SHOWN])}"
        rest = report.peak.buffers[_SHOWN:]
        if rest:
            text += f"\n    {size_text(sum(size for _, size in rest)):>32}  in {len(rest)} more"
    return text


def _ways_below(
    report: Report,
    options: CompileOptions,
    budget: int,
    *,
    searched: bool,
    measure: Callable[[CompileOptions], Report] | None,
) -> str:
    """What was not used, or was cut short by a limit; a smaller model where nothing else is left."""
    stream = options.stream
    if measure is None or report.memory.ram is None:
        flags = left_out(options)
        ways = [f"leave out {', '.join(flags)}"] if flags else []
        if stream.io != ARENA:
            ways.append("share the memory of inputs and outputs by --io arena")
    else:
        found = measured_ways(options, report.memory.ram, budget, measure)
        ways = [f"{'and ' if number else ''}{way.text(budget)}" for number, way in enumerate(found)]
    if stream.schedule and stream.arena and not report.memory.optimal:
        ways.append("raise --time-limit, as order and arena are not proven minimal yet")
    if report.untried or any(item.saved is None for item in report.rewrites):
        ways.append("raise --rewrite-limit, as not all sets of rewrites were tried")
    if not searched:
        ways.append("try --search fusion")
    ways += _not_taken(report)
    if ways:
        return "\n    ".join([*ways, _ELSE])
    return f"order and arena are proven minimal: {_ELSE.removeprefix('else ')}"


def _not_taken(report: Report) -> list[str]:
    """Rewrites that were considered at the nodes of the peak, and why they were not taken."""
    nodes = set() if report.peak is None else set(report.peak.nodes)
    found = [item for item in report.considered if nodes & set(item.location.split(", "))]
    return [f"not taken: {item.pattern} at {item.location}, {item.reason}" for item in found[:_SHOWN]]
