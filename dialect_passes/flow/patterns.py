"""Choices of what runs in one dispatch and what it stores, in the order in which they apply."""

from __future__ import annotations

from serenity_mlir.dialect_passes.flow import (
    form_dispatch_regions,
    pad_on_read,
    recompute_elementwise,
    reuse_operands,
    share_padding,
    update_in_place,
)
from serenity_mlir.dialect_passes.linalg.rewrite import Find

PATTERNS: tuple[Find, ...] = (
    share_padding.find,
    recompute_elementwise.find,
    form_dispatch_regions.find,
    update_in_place.find,
    pad_on_read.find,
)
"""After IREE's phase `global-optimization`."""

DISPATCH_PATTERNS: tuple[Find, ...] = (reuse_operands.find,)
"""After IREE's phase `dispatch-creation`."""
