"""What every rewrite offers: the places where it fits, and those that it leaves alone with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.node_names import node_names


@dataclass(frozen=True, slots=True)
class Site:
    """A place where a rewrite fits.

    Attributes:
        pattern: The rewrite's name: "split-concat-conv".
        anchor: The op that is replaced. No two sites of a pattern have the same.
        exact: Whether results stay bit-identical; False where sums are reassociated.
        apply: Do it. The module is valid before and after.
        work: What it adds to the time of an inference, as multiply-accumulates that would take as long.
        along: Other ops that it may replace.
    """

    pattern: str
    anchor: ir.Operation
    exact: bool
    apply: Callable[[], None]
    work: float = 0.0
    along: tuple[ir.Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A place that looks like one for a rewrite and is left alone."""

    pattern: str
    anchor: ir.Operation
    reason: str


Find = Callable[[ir.Operation], Iterable[Site | Refusal]]
"""The places of one pattern in a module, in program order."""


def place(op: ir.Operation) -> str:
    """The model's nodes that an op came from, else its kind."""
    return ", ".join(node_names(op.location)) or str(op.name)


def keyed(found: Iterable[Site | Refusal]) -> Iterator[tuple[str, Site | Refusal]]:
    """Sites and refusals with keys that are the same in every clone of the module."""
    seen: Counter[str] = Counter()
    for item in found:
        name = f"{item.pattern} at {place(item.anchor)}"
        seen[name] += 1
        yield (f"{name} #{seen[name]}" if seen[name] > 1 else name), item


def apply_sites(module: ir.Operation, find: Find, chosen: Collection[str] | None = None) -> list[str]:
    """Apply the sites whose keys are chosen, all where None; returns the keys of those applied."""
    sites = [
        (key, item)
        for key, item in keyed(find(module))
        if isinstance(item, Site) and (chosen is None or key in chosen)
    ]
    with module.context:
        for _, site in sites:
            site.apply()
    return [key for key, _ in sites]


def apply_with_remarks(
    module: ir.Operation, find: Find, *, name: str, exact: bool = False
) -> tuple[str, ...]:
    """Apply all sites as the pass `name`, and remark on what is left alone; returns the keys applied.

    Args:
        module: What to rewrite.
        find: The pattern.
        name: The pass.
        exact: Leave alone what does not keep results bit-identical.
    """
    chosen = []
    for key, item in keyed(find(module)):
        if isinstance(item, Refusal):
            remark(item.anchor, f"{name} leaves {item.anchor.name} alone: {item.reason}")
        elif exact and not item.exact:
            remark(
                item.anchor, f"{name} leaves {item.anchor.name} alone: it would reassociate a sum of floats"
            )
        else:
            chosen.append(key)
    return tuple(apply_sites(module, find, chosen))
