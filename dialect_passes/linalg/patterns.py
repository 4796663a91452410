"""The rewrites that are chosen from, in the order in which they apply."""

from __future__ import annotations

from serenity_mlir.dialect_passes.linalg import (
    centre_weights,
    commute_quantize,
    narrow_max_pool,
    split_concat_conv,
    split_concat_depthwise_conv,
)
from serenity_mlir.dialect_passes.linalg.rewrite import Find

PATTERNS: tuple[Find, ...] = (
    commute_quantize.find,
    narrow_max_pool.find,
    centre_weights.find,
    split_concat_depthwise_conv.find,
    split_concat_conv.find,
)
