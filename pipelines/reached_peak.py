"""Which of the model's nodes a peak depends on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from serenity_mlir.liveness import live_bytes, live_ranges
from serenity_mlir.peak_core import PeakCore


@dataclass(frozen=True)
class ReachedPeak:
    """A peak, and which of its buffers belong to which of the model's nodes."""

    core: PeakCore

    @cached_property
    def _nodes(self) -> dict[str, frozenset[int]]:
        found: dict[str, set[int]] = {}
        for op in self.core.graph.ops:
            for node in _nodes(op.name):
                found.setdefault(node, set()).update(op.touches)
        return {node: frozenset(buffers) for node, buffers in found.items()}

    def touched(self, names: Collection[str]) -> frozenset[int]:
        """Buffers that ops of these nodes touch.

        However those ops are rewritten, the others stay, with their buffers and what orders them.
        """
        return frozenset[int]().union(*(self._nodes.get(name, frozenset()) for name in parts(names)))

    def above(self, size: float) -> frozenset[str]:
        """Nodes whose ops run while more is live."""
        graph, order = self.core.graph, self.core.order
        live = live_bytes(live_ranges(graph, order), len(order))
        high = (graph.ops[index].name for index, held in zip(order, live, strict=True) if held > size)
        return frozenset(node for name in high for node in _nodes(name))


def parts(names: Collection[str]) -> set[str]:
    """The names that joined ones are of."""
    return {part for name in names for part in name.split(", ")}


def _nodes(label: str) -> list[str]:
    return label.partition(" [")[2].removesuffix("]").split(", ")
