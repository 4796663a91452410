"""Tables of a pruning report as text: for each variant what it takes beside its budgets."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from serenity_mlir.reform.budgets import KINDS, UNITS, shown
from serenity_mlir.sizes import kib_text
from serenity_mlir.views.rows import Table

if TYPE_CHECKING:
    from serenity_mlir.reform.budgets import Kind
    from serenity_mlir.reform.report import PruneReport, Variant

_HEADINGS = ("", "unpruned", "pruned", "left", "budget", "holds")


def pruning_tables(report: PruneReport) -> list[Table]:
    """A table for each variant, from the largest to the smallest."""
    return [
        Table(_title(report, item), _HEADINGS, tuple(_rows(report, item)), frozenset())
        for item in report.variants
    ]


def _title(report: PruneReport, variant: Variant) -> str:
    name = f", variant {variant.name}" if variant.name else ""
    return f"{PurePath(report.model.path).name}  (profile {report.profile}, method {report.method}{name})"


def _rows(report: PruneReport, variant: Variant) -> list[tuple[str, ...]]:
    whole = report.unpruned
    rows: list[tuple[str, ...]] = [
        (
            f"{kind} ({UNITS[kind]})",
            _amount(kind, before),
            _amount(kind, now),
            f"{now / before:.1%}" if before else "",
            _amount(kind, variant.budgets.get(kind)),
            "" if kind not in variant.budgets else "no" if now > variant.budgets[kind] else "yes",
        )
        for kind in KINDS
        if (now := getattr(variant.figures, kind)) is not None
        and (before := getattr(whole, kind)) is not None
    ]
    rows.append(
        (report.calibration.measure, f"{whole.score:.2%}", f"{variant.figures.score:.2%}", "", "", "")
    )
    channels = sum(group.size for group in variant.groups)
    left = sum(group.kept for group in variant.groups)
    rows.append(("channels", f"{channels:,}", f"{left:,}", f"{left / channels:.1%}", "", ""))
    return rows


def _amount(kind: Kind, value: float | None) -> str:
    if value is None:
        return ""
    if UNITS[kind] == "bytes":
        return f"{value:,.0f} ({kib_text(value)})"
    return shown(kind, value).removesuffix(UNITS[kind]).strip()
