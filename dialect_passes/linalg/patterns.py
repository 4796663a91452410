"""The rewrites that are chosen from, in the order in which they apply."""

from __future__ import annotations

from serenity_mlir.dialect_passes.linalg.rewrite import Find

PATTERNS: tuple[Find, ...] = ()
