"""Weights stay as stored: the constants of a compiled module beside those of its model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from serenity_mlir.dialect_passes.tensors.stored_constants import StoredConstant, total_size
from serenity_mlir.report import Grown, Rom

_TOLERATED = 0.05
"""How much larger the constants may be than the model's own."""


def exceeds(stored: int, own: int) -> bool:
    """Whether constants take noticeably more than the model's own, bytes both."""
    return stored > (1 + _TOLERATED) * own


def rom(own: Sequence[StoredConstant], stored: Sequence[StoredConstant]) -> Rom:
    """The report's figures of constants.

    Args:
        own: The model's.
        stored: The compiled module's.
    """
    model, now = total_size(own), total_size(stored)
    grown = sorted(_grown(own, stored), key=lambda item: -item.size) if exceeds(now, model) else []
    return Rom(model, now, grown, total_size([item for item in stored if item.in_code]))


def _grown(own: Sequence[StoredConstant], stored: Sequence[StoredConstant]) -> Iterator[Grown]:
    """Constants of which the model holds none with that many elements and bytes."""
    left = Counter((item.elements, item.size) for item in own)
    kinds: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for item in own:
        kinds[item.elements][item.kind] = item.size
    for item in stored:
        if left[item.elements, item.size]:
            left[item.elements, item.size] -= 1
            continue
        narrower = [kind for kind, size in kinds[item.elements].items() if size < item.size]
        if narrower:
            reason = f"stored as {item.kind}, where the model has {' or '.join(narrower)}"
        elif item.size in kinds[item.elements].values():
            reason = "stored more often than in the model"
        else:
            reason = "computed of the model's constants when it was compiled"
        yield Grown(item.name, ", ".join(item.nodes), item.size, reason)
