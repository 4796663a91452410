"""The rewrites that are chosen from, in the order in which they apply."""

from __future__ import annotations

from serenity_mlir.dialect_passes.linalg import (
    narrowing,
    split_concat_conv,
    split_concat_depthwise_conv,
)
from serenity_mlir.dialect_passes.linalg.rewrite import Find

PATTERNS: tuple[Find, ...] = (
    split_concat_depthwise_conv.find,
    split_concat_conv.find,
    narrowing.find,
)
