"""The alignment of slices in the slab."""

from __future__ import annotations

import re

from serenity_mlir.dialect_passes.mlir import ir

# IREE's default for `--iree-stream-resource-min-offset-alignment`.
DEFAULT = 64
_ATTRIBUTE = "stream.resources"


def alignment_of(op: ir.Operation) -> int:
    """Bytes to which IREE aligns slices at `op`.

    The nearest `stream.resources` configuration on the op or around it decides, as in IREE;
    64 bytes where there is none.
    """
    current: ir.Operation | None = op
    while current is not None:
        if _ATTRIBUTE in current.attributes:
            match = re.search(r"min_buffer_offset_alignment = (\d+)", str(current.attributes[_ATTRIBUTE]))
            if match:
                return int(match[1])
        parent = current.parent
        current = parent.operation if parent is not None else None
    return DEFAULT
