"""The rewrites after which what is moved and stored is the integers of a quantised network."""

from __future__ import annotations

from collections.abc import Iterator

from serenity_mlir.dialect_passes.linalg import centre_weights, commute_quantize, narrow_max_pool
from serenity_mlir.dialect_passes.linalg.rewrite import Find, Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.regions import functions

PATTERN = "narrow-quantised"
NARROWING: tuple[Find, ...] = (centre_weights.find, commute_quantize.find, narrow_max_pool.find)
"""In the order in which they open places for each other: weights before their reshapes move."""


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Functions where any of them fits, as one site each.

    One by one they seldom save anything: a tensor is stored as f32 until the last of its readers and
    writers takes integers.
    """
    for _, function in functions(module):
        found = [item for find in NARROWING for item in find(function)]
        yield from (item for item in found if isinstance(item, Refusal))
        if len(found) > sum(isinstance(item, Refusal) for item in found):
            yield _site(function)


def _site(function: ir.Operation) -> Site:
    def apply() -> None:
        narrow(function)

    return Site(PATTERN, function, exact=True, apply=apply)


def narrow(root: ir.Operation) -> list[str]:
    """Apply every place of all of them in a module or function until there is none.

    Returns:
        The keys in the order taken.
    """
    taken: list[str] = []
    while found := [key for find in NARROWING for key in apply_sites(root, find)]:
        taken += found
    return taken
