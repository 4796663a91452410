"""How IREE's CPU backend was told to tile an op: `#iree_cpu.lowering_config`, a list of sizes a level."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from serenity_mlir.dialect_passes.mlir import ir

ATTRIBUTE = "lowering_config"
DISTRIBUTION, PARALLEL, REDUCTION = "distribution", "vector_common_parallel", "vector_reduction"
INNER = "vector_inner_parallel"

_PREFIX = "#iree_cpu.lowering_config<"
_LEVEL = re.compile(r"(\w+) = \[([\d, ]*)\]")


def tiles(op: ir.Operation) -> dict[str, list[int]] | None:
    """The sizes of an op's loops on each level; None where it has none, or they are not understood."""
    if ATTRIBUTE not in op.attributes:
        return None
    text = str(op.attributes[ATTRIBUTE])
    found = {name: [int(size) for size in sizes.split(",") if size] for name, sizes in _LEVEL.findall(text)}
    # Scalable sizes, and whatever else the bindings have no other way to read.
    return found if text == _text(found) else None


def set_tiles(op: ir.Operation, levels: Mapping[str, Sequence[int]]) -> None:
    """Tell IREE to tile an op so."""
    op.attributes[ATTRIBUTE] = ir.Attribute.parse(_text(levels), context=op.context)


def _text(levels: Mapping[str, Sequence[int]]) -> str:
    return _PREFIX + ", ".join(f"{name} = {list(levels[name])}" for name in sorted(levels)) + ">"
