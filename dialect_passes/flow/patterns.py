"""Choices of what runs in one dispatch, in the order in which they apply after `global-optimization`."""

from __future__ import annotations

from serenity_mlir.dialect_passes.flow import form_dispatch_regions
from serenity_mlir.dialect_passes.linalg.rewrite import Find

PATTERNS: tuple[Find, ...] = (form_dispatch_regions.find,)
