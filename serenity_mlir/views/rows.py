"""Tables of a report as text, for terminals and for Markdown alike. Sizes are bytes and KiB."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from serenity_mlir.report import Report
from serenity_mlir.sizes import kib_text, size_text
from serenity_mlir.timeline import RegionTimeline, Source

UNKNOWN = "not constant"
# Steps shown before and after that of the peak, and buffers shown before the rest is summed up.
_AROUND = 3
_SHOWN = 8
_FIGURES = "0123456789+-"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text.

    Attributes:
        title: What it shows.
        headings: Of its columns.
        rows: Cells, as many a row as there are headings.
        texts: The columns that are text and may be cut short; the others are figures, or short.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: frozenset[int] = frozenset({0})

    def is_figures(self, column: int) -> bool:
        """Whether a column holds figures, which are set to the right; the first is what they are of."""
        cells = (row[column] for row in self.rows)
        return column > 0 and column not in self.texts and any(cell[:1] in _FIGURES for cell in cells if cell)


def tables(report: Report) -> list[Table]:
    """What everybody wants to know of a report: totals, the steps around the peak, what is live there."""
    region = peak_region(report)
    if region is None:
        return [memory_table(report)]
    outside = (report.memory.final.peak or region.after.peak) - region.after.peak
    return [memory_table(report), steps_table(region, outside=outside), live_table(region)]


def memory_table(report: Report) -> Table:
    """Before and after: before is file order, or for the slab the best that stock IREE does.

    Where ops were rewritten or dispatches formed, file order is that of what came out; another row has the
    arena without.

    It fits 80 columns with sizes of nine digits.
    """
    memory = report.memory
    rows: list[tuple[str, ...]] = []
    if memory.stock is not None:
        for name in ("max_concurrency", "min_peak_memory", "debug"):
            size = getattr(memory.stock, name)
            note = "best of stock" if size is not None and size == memory.stock.best else ""
            rows.append((f"IREE {name.replace('_', '-')}", bytes_text(size), "", "", "", note))
    rows.append(_compared("live peak", memory.file_order.peak, memory.final.peak, ""))
    rows.append(_compared("arena", memory.file_order.arena, memory.final.arena, proof(report)))
    if report.as_written is not None:
        rows.append(_compared("arena, rewritten", report.as_written, memory.final.arena, ""))
    best = memory.stock.best if memory.stock is not None else None
    rows.append(_compared("slab IREE allocates", best, memory.slab, "", known=memory.stock is not None))
    where = "not in slab" if memory.io == "external" else "in arena"
    rows += [
        _compared(f"inputs, {where}", None, memory.inputs, "", known=False),
        _compared(f"outputs, {where}", None, memory.outputs, "", known=False),
    ]
    ram = "RAM: slab, in, out" if memory.io == "external" else "RAM: the whole arena"
    rows.append(_compared(ram, None, memory.ram, "", known=False))
    if memory.stack is not None:
        rows.append(_compared("stack of a call", None, memory.stack, "beside RAM", known=False))
    own = None if report.rom is None else report.rom.model
    inside = f"{report.rom.in_code:,} in code" if report.rom is not None and report.rom.in_code else ""
    rows.append(_compared("weights", own, report.constants, inside, known=own is not None))
    if memory.flash is not None:
        rows.append(_compared("flash, linked", None, memory.flash, "weights, code", known=False))
    title = f"{PurePath(report.model.path).name}  ({report.target})"
    headings = ("bytes", "before", "after", "KiB", "ratio", "")
    return Table(title, headings, tuple(rows), frozenset())


def _compared(
    name: str, before: int | None, after: int | None, note: str, *, known: bool = True
) -> tuple[str, ...]:
    """A row; `known` is whether there is a figure of before at all."""
    ratio = f"{before / after:.2f}x" if known and before and after else ""
    kib = "" if after is None else kib_text(after).removesuffix(" KiB")
    return (name, bytes_text(before) if known else "", bytes_text(after), kib, ratio, note)


def proof(report: Report) -> str:
    """Whether the arena is proven to be the least, or how far it may be above."""
    if report.memory.optimal:
        return "proven optimal"
    return "" if report.memory.gap is None else f"gap <= {report.memory.gap:.1%}"


def peak_region(report: Report) -> RegionTimeline | None:
    """The model's region in which most bytes are live; None where none is known, or nothing is live."""
    found = [item for item in report.timeline if item.role == "model" and item.after.peak]
    return max(found, key=lambda item: item.after.peak, default=None)


def steps_table(region: RegionTimeline, *, outside: int = 0) -> Table:
    """The ops at and around the peak: the model's nodes, live bytes, and by how much they change.

    Args:
        region: Where they are.
        outside: Bytes of the live peak that lie between regions, as with state and control flow.
    """
    course = region.after
    at = course.peak_step
    rows: list[tuple[str, ...]] = [
        (
            f"{'>' if number == at else ''}{number}",
            short(course.steps[number], region),
            ", ".join(course.steps[number].nodes),
            f"{course.steps[number].live:,}",
            f"{course.steps[number].delta:+,}",
        )
        for number in range(max(at - _AROUND, 0), min(at + _AROUND + 1, len(course.steps)))
    ]
    title = f"around the peak: {size_text(course.peak)} live at step {at} of {len(course.steps):,}"
    if outside > 0:
        title += f", {size_text(outside)} outside"
    headings = ("step", "op", "nodes", "bytes live", "change")
    return Table(title, headings, tuple(rows), frozenset({1, 2}))


def live_table(region: RegionTimeline) -> Table:
    """What is live at the peak, the largest first; the sizes are those that are packed."""
    course = region.after
    live = course.live_at(course.peak_step)
    rows: list[tuple[str, ...]] = [
        (
            short(Source(item.name), region),
            ", ".join(item.nodes),
            f"{item.size:,}",
            kib_text(item.size).removesuffix(" KiB"),
            f"{item.first}-{item.last}",
        )
        for item in live[:_SHOWN]
    ]
    if live[_SHOWN:]:
        rest = sum(item.size for item in live[_SHOWN:])
        kib = kib_text(rest).removesuffix(" KiB")
        rows.append((f"{len(live) - _SHOWN:,} more", "", f"{rest:,}", kib, ""))
    title = f"live at step {course.peak_step}: {size_text(sum(item.size for item in live))}"
    return Table(title, ("buffer", "nodes", "bytes", "KiB", "steps"), tuple(rows), frozenset({0, 1}))


def short(source: Source, region: RegionTimeline) -> str:
    """An op without the name of its function: IREE puts that before each dispatch's."""
    return source.op.removeprefix(f"{region.name.rpartition('#')[0]}_").removeprefix("dispatch_")


def bytes_text(size: int | None) -> str:
    """A cell under a heading that says bytes."""
    return UNKNOWN if size is None else f"{size:,}"
