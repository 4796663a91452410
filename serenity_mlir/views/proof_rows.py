"""Tables of an order and of an arena as text: how large, and what is proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serenity_mlir.sizes import counted, kib_text
from serenity_mlir.views.rows import Table

if TYPE_CHECKING:
    from serenity_mlir.arena.result import ArenaPlan
    from serenity_mlir.schedulers.result import Schedule


def schedule_table(found: Schedule) -> Table:
    """The peak of an order beside the bound that no order is below."""
    title = (
        f"order of {counted(len(found.order), 'op')} by {found.method}: "
        f"{counted(found.states, 'state')}, {counted(found.segments, 'segment')}, {found.seconds:.2f} s"
    )
    return _beside("live peak", title, found.peak, found.lower_bound)


def plan_table(found: ArenaPlan) -> Table:
    """The size of an arena beside the bound that no plan is below."""
    title = (
        f"arena of {counted(len(found.offsets), 'buffer')} by {found.method}: "
        f"{counted(found.nodes, 'node')}, {found.seconds:.2f} s"
    )
    return _beside("arena", title, found.size, found.lower_bound)


def _beside(name: str, title: str, size: int, bound: int) -> Table:
    proof = "proven optimal" if size == bound else f"gap <= {(size - bound) / size:.1%}"
    rows = tuple(
        (what, f"{value:,}", kib_text(value).removesuffix(" KiB"), note)
        for what, value, note in ((name, size, proof), ("lower bound", bound, ""))
    )
    return Table(title, ("", "bytes", "KiB", ""), rows, frozenset())
