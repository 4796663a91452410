"""The only module that prints: tables, progress and errors, all to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from serenity_mlir.errors import SerenityError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from serenity_mlir.report import Report

# Buffers that the table of the peak shows before it sums up the rest.
_SHOWN = 8
# The model's nodes that the table of dispatches names.
_NODES = 4
_WIDEST = 1000


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
    """A table of figures; the first column is what they belong to."""
    from rich import box  # noqa: PLC0415  (as above)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False
    )
    for index, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if index else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console = stderr()
    console.width = _WIDEST  # figures cut short to fit a terminal are worth nothing
    console.print(table)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A callback that shows the present stage, on a terminal only."""
    console = stderr()
    if not console.is_terminal:
        yield lambda _stage: None
        return
    with console.status("import") as status:
        yield lambda stage: status.update(f"{stage} …")


def print_report(report: Report, *, traffic: bool = False, dispatches: bool = False) -> None:
    """The before/after table of one compilation, off-chip traffic and dispatches only where asked for."""
    console = stderr()
    _print_memory(console, report)
    if dispatches:
        _print_dispatches(report)
    if traffic:
        _print_traffic(console, report)
    _print_peak(console, report)
    seconds = report.seconds
    console.print(
        f"{report.schedule.ops} ops, order by {report.schedule.method}, {report.schedule.states} states; "
        f"{seconds.schedule:.2f} s scheduling, {seconds.arena:.2f} s planning, {seconds.total:.2f} s in all",
        markup=False,
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
        console.print(f"  {_bytes(candidate.arena):>16}  {flags}  {taken}".rstrip(), markup=False)
    _print_grown(console, report)
    for warning in report.warnings:
        console.print(f"warning: {warning}", markup=False)


def _print_memory(console: Console, report: Report) -> None:
    from rich import box  # noqa: PLC0415  (as above)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    memory = report.memory
    title = Text(f"{report.model.path}  ({report.target})")
    # Slim enough for 80 columns with nine-digit sizes.
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading, justify in (("bytes", "left"), ("live peak", "right"), ("arena", "right"), ("", "left")):
        table.add_column(heading, justify="right" if justify == "right" else "left")
    if memory.stock is not None:
        for name in ("max_concurrency", "min_peak_memory", "debug"):
            value = getattr(memory.stock, name)
            note = "best of stock" if value is not None and value == memory.stock.best else ""
            table.add_row(f"stock {name.replace('_', '-')}", "", _bytes(value), note)
    table.add_row("file order", _bytes(memory.file_order.peak), _bytes(memory.file_order.arena), "")
    table.add_row("final", _bytes(memory.final.peak), _bytes(memory.final.arena), _proof(report))
    table.add_row("slab IREE allocates", "", _bytes(memory.slab), _ratio(report))
    table.add_section()
    owner = "caller-owned" if memory.io == "external" else "in the arena while needed"
    table.add_row("inputs", "", _bytes(memory.inputs), owner)
    table.add_row("outputs", "", _bytes(memory.outputs), owner)
    ram = "RAM: slab, in, out" if memory.io == "external" else "RAM: the whole arena"
    table.add_row(ram, "", _bytes(memory.ram), "")
    if memory.stack is not None:
        table.add_row("stack of a call", "", _bytes(memory.stack), "beside RAM, at most")
    own = "" if report.rom is None else f"the model's own {report.rom.model:,}"
    table.add_row("weights", "", _bytes(memory.weights), own)
    if memory.flash is not None:
        table.add_row("flash, linked", "", _bytes(memory.flash), "weights, code, tables")
    console.print(table)


def _print_dispatches(report: Report) -> None:
    """A row a dispatch: what it came from, how many ops were fused, what crosses its boundary."""
    rows = [
        (
            ", ".join(item.nodes[:_NODES]) + (" …" if len(item.nodes) > _NODES else ""),
            str(len(item.fused)) if item.fused else "copy",
            _bytes(item.read),
            _bytes(item.constants),
            _bytes(item.stored),
            ", ".join(item.padding) or "none",
            "in place" if item.in_place else "",
        )
        for item in report.dispatches
    ]
    headings = ("dispatch", "ops", "reads", "constants", "stores", "padding", "")
    print_table("", headings, rows)


def _print_rewrites(console: Console, report: Report) -> None:
    for rewrite in report.rewrites[:_SHOWN]:
        saved = "" if rewrite.saved is None else f", without which {rewrite.saved:,} bytes more"
        console.print(f"  {rewrite.pattern} at {rewrite.location}{saved}", markup=False)
    if len(report.rewrites) > _SHOWN:
        console.print(f"  and {len(report.rewrites) - _SHOWN} more rewrites", markup=False)


def _print_grown(console: Console, report: Report) -> None:
    rom = report.rom
    if rom is None or not rom.grown:
        return
    console.print(f"constants take {rom.stored:,} bytes, the model's own {rom.model:,}", markup=False)
    for item in rom.grown[:_SHOWN]:
        console.print(f"  {item.size:>12,}  {item.name} [{item.location}]: {item.reason}", markup=False)
    if len(rom.grown) > _SHOWN:
        console.print(f"  and {len(rom.grown) - _SHOWN} more", markup=False)


def _print_traffic(console: Console, report: Report) -> None:
    if not report.traffic:
        console.print("off-chip traffic: not known, something has no constant size", markup=False)
    for item in report.traffic:
        before, after = item.before.in_ + item.before.out, item.after.in_ + item.after.out
        console.print(
            f"off-chip traffic with {item.on_chip >> 10} KB on chip: {before:,} bytes in file order, "
            f"{after:,} in the final one ({item.after.in_:,} in, {item.after.out:,} out)",
            markup=False,
        )


def _print_peak(console: Console, report: Report) -> None:
    if report.peak is None or not report.peak.live:
        return
    console.print(f"peak at {report.peak.op}: {report.peak.live:,} bytes live", markup=False)
    for name, size in report.peak.buffers[:_SHOWN]:
        console.print(f"  {size:>12,}  {name}", markup=False)
    rest = report.peak.buffers[_SHOWN:]
    if rest:
        console.print(f"  {sum(size for _, size in rest):>12,}  in {len(rest)} more", markup=False)


def _bytes(value: int | None) -> str:
    return "no constant size" if value is None else f"{value:,}"


def _proof(report: Report) -> str:
    if report.memory.optimal:
        return "proven optimal"
    if report.memory.lower_bound is None or report.memory.gap is None:
        return ""
    return f"within {report.memory.gap:.1%} of the optimum"


def _ratio(report: Report) -> str:
    stock = report.memory.stock
    if stock is None or not stock.best or not report.memory.slab:
        return ""
    return f"{stock.best / report.memory.slab:.2f}x less than best of stock"
