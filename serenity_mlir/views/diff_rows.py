"""Tables of a difference between two reports, for terminals and for Markdown alike."""

from __future__ import annotations

from serenity_mlir.diff import Change, Difference, figure_text
from serenity_mlir.report import PeakOp
from serenity_mlir.sizes import counted, kib_text, size_text
from serenity_mlir.views.rows import Table


def diff_tables(found: Difference) -> list[Table]:
    """The figures, and the op at the peak with the model's nodes, before and after."""
    regressions = len(found.regressions)
    verdict = f"{regressions} regressed" if regressions else "nothing regressed"
    changed = [item for item in found.changes if item.before != item.after]
    title = f"{counted(len(found.changes), 'figure')}: {len(changed)} changed, {verdict}"
    headings = ("bytes", "before", "after", "KiB", "change", "")
    peaks = [
        (when, ", ".join(peak.nodes), _short(peak), f"{peak.live:,}")
        for when, peak in zip(("before", "after"), found.peaks, strict=True)
        if peak is not None
    ]
    at = Table("at the peak", ("", "nodes", "op", "bytes live"), tuple(peaks), frozenset({1, 2}))
    return [Table(title, headings, tuple(map(_row, found.changes)), frozenset({0})), at]


def _short(peak: PeakOp) -> str:
    """The op without its nodes, and without the function's name that IREE puts before a dispatch's."""
    return peak.op.removesuffix(f" [{', '.join(peak.nodes)}]").rpartition("_dispatch_")[2]


def _row(item: Change) -> tuple[str, ...]:
    kib = kib_text(item.after).removesuffix(" KiB") if item.is_size and item.after is not None else ""
    verdict = "regressed" if item.regressed else ""
    return (item.name, _text(item, item.before), _text(item, item.after), kib, change_text(item), verdict)


def _text(item: Change, value: float | None) -> str:
    """A figure under a heading that says bytes: a count of other things says of which."""
    if value is None:
        return ""
    return (
        figure_text(value)
        if item.is_size or isinstance(value, float)
        else counted(int(value), item.name[:-1])
    )


def change_text(item: Change, unit: str = "") -> str:
    """By how much, and as a share of what it was; empty where nothing changed or one is not known."""
    if item.before is None or item.after is None or item.before == item.after:
        return ""
    change = item.after - item.before
    sign = "+" if change > 0 else "-"
    share = f" ({change / item.before:+.1%})" if item.before else ""
    return f"{sign}{figure_text(abs(change))}{unit}{share}"


def growth_text(item: Change) -> str:
    """A regression in one line, by how much where that is known."""
    return ", ".join(filter(None, (item.words, change_text(item, " bytes" if item.is_size else ""))))


def regression_text(found: Difference, tolerance: str) -> str:
    """What a build log says of regressions, with the nodes at the peak."""
    lines = [f"worse than the tolerance of {tolerance} allows"]
    lines += [f"    {growth_text(item)}" for item in found.regressions]
    for when, peak in zip(("before", "now"), found.peaks, strict=True):
        if peak is not None:
            lines.append(f"  {when} the peak is {size_text(peak.live)} at {peak.op}")
    return "\n".join(lines)
