"""Budgets that a compiled model is held to, and the ways below one that was exceeded."""

from __future__ import annotations

from serenity_mlir.dialect_passes.stream.schedule_execution import ARENA
from serenity_mlir.errors import BudgetExceeded
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.report import Report


def check_budgets(
    report: Report, options: CompileOptions, *, searched: bool, ram: int | None, rom: int | None
) -> None:
    """Hold the figures of a model against bytes of RAM and ROM; None is no budget.

    Args:
        report: The figures.
        options: What they were reached with.
        searched: Whether several ways to form dispatches were tried.
        ram: Bytes.
        rom: Bytes.

    Raises:
        BudgetExceeded: naming what is live at the peak, and what may help.
    """
    memory = report.memory
    if ram is not None:
        if memory.ram is None:
            raise BudgetExceeded("RAM has no constant size, so no budget can hold it", file=report.model.path)
        if memory.ram > ram:
            hint = _ways_below(report, options, searched=searched)
            raise BudgetExceeded(_over_ram(report, memory.ram, ram), file=report.model.path, hint=hint)
    needed = memory.weights + (memory.code or 0) if memory.flash is None else memory.flash
    if rom is not None and needed > rom:
        what = "weights are" if memory.code is None else "weights and code are"
        raise BudgetExceeded(
            f"{what} {needed:,} bytes, {needed - rom:,} more than the budget of {rom:,}",
            file=report.model.path,
            hint="quantise or prune the model",
        )


def _over_ram(report: Report, needed: int, budget: int) -> str:
    text = f"RAM is {needed:,} bytes, {needed - budget:,} more than the budget of {budget:,}"
    if report.peak is not None:
        live = "".join(f"\n    {size:>12,}  {name}" for name, size in report.peak.buffers)
        text += f"\n  live at the peak, {report.peak.op}:{live}"
    return text


def _ways_below(report: Report, options: CompileOptions, *, searched: bool) -> str:
    """What was not used, or was cut short by a limit; a smaller model where nothing else is left."""
    rewrite, stream = options.rewrite, options.stream
    kept = {
        "--no-schedule": not stream.schedule,
        "--no-arena": not stream.arena,
        "--no-rewrite": not rewrite.ops,
        "--no-regions": not rewrite.regions,
        "--exact": rewrite.exact,
    }
    left_out = [flag for flag, used in kept.items() if used]
    ways = [f"leave out {', '.join(left_out)}"] if left_out else []
    if stream.schedule and stream.arena and not report.memory.optimal:
        ways.append("raise --time-limit, as order and arena are not proven minimal yet")
    if any(item.saved is None for item in report.rewrites):
        ways.append("raise --rewrite-limit, as not all sets of rewrites were tried")
    if not searched:
        ways.append("try --search fusion")
    if stream.io != ARENA:
        ways.append("share the memory of inputs and outputs by --io arena")
    if ways:
        return "; ".join([*ways, "else use a smaller model"])
    return "order and arena are proven minimal: use a smaller model, or smaller tensors at the peak"
