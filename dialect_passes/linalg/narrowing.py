"""The rewrites after which what is moved and stored is the integers of a quantised network."""

from __future__ import annotations

from serenity_mlir.dialect_passes.linalg import centre_weights, commute_quantize, narrow_max_pool
from serenity_mlir.dialect_passes.linalg.rewrite import Find, apply_sites
from serenity_mlir.dialect_passes.mlir import ir

NARROWING: tuple[Find, ...] = (centre_weights.find, commute_quantize.find, narrow_max_pool.find)
"""In the order in which they open places for each other: weights before their reshapes move."""


def narrow(module: ir.Operation) -> list[str]:
    """Apply every place of all of them until there is none; returns the keys in the order taken."""
    taken: list[str] = []
    while found := [key for find in NARROWING for key in apply_sites(module, find)]:
        taken += found
    return taken
