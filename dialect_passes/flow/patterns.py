"""Choices of what runs in one dispatch, in the order in which they apply after `global-optimization`."""

from __future__ import annotations

from serenity_mlir.dialect_passes.flow import (
    form_dispatch_regions,
    pad_on_read,
    share_padding,
    update_in_place,
)
from serenity_mlir.dialect_passes.linalg.rewrite import Find

PATTERNS: tuple[Find, ...] = (
    share_padding.find,
    form_dispatch_regions.find,
    update_in_place.find,
    pad_on_read.find,
)
