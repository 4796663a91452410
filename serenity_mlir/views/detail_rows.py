"""Tables of a report that are shown where they are asked for: dispatches, off-chip traffic."""

from __future__ import annotations

from serenity_mlir.report import Report
from serenity_mlir.sizes import kib_text
from serenity_mlir.views.rows import Table, bytes_text

# The model's nodes that the table of dispatches names.
_NODES = 4


def detail_tables(report: Report, *, traffic: bool, dispatches: bool) -> list[Table]:
    """Those that are asked for, in one order everywhere."""
    found = [dispatch_table(report)] if dispatches else []
    return [*found, traffic_table(report)] if traffic else found


def dispatch_table(report: Report) -> Table:
    """A row a dispatch: what it came from, how many ops were fused, what crosses its boundary."""
    rows: list[tuple[str, ...]] = [
        (
            ", ".join(item.nodes[:_NODES]) + (" …" if len(item.nodes) > _NODES else ""),
            str(len(item.fused)) if item.fused else "copy",
            bytes_text(item.read),
            bytes_text(item.constants),
            bytes_text(item.stored),
            ", ".join(item.padding) or "none",
            "in place" if item.in_place else "",
        )
        for item in report.dispatches
    ]
    headings = ("dispatch", "ops", "reads", "constants", "stores", "padding", "")
    return Table("bytes that each dispatch reads and stores", headings, tuple(rows), frozenset({0}))


def traffic_table(report: Report) -> Table:
    """A row a size of on-chip memory: what comes and goes in file order, and in the final one."""
    rows: list[tuple[str, ...]] = [
        (
            kib_text(item.on_chip),
            f"{item.before.in_ + item.before.out:,}",
            f"{item.after.in_ + item.after.out:,}",
            f"{item.after.in_:,}",
            f"{item.after.out:,}",
        )
        for item in report.traffic
    ]
    why = "" if rows else ": not known, something has no constant size"
    headings = ("on chip", "before", "after", "of it in", "of it out")
    return Table(f"bytes of off-chip traffic{why}", headings, tuple(rows), frozenset())
