"""Which buffers hold a peak where it is: what does not touch them cannot lower it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import live_bytes, live_ranges, peak
from serenity_mlir.schedulers import schedule
from serenity_mlir.schedulers.bounds import lower_bound

_WIDTHS = (0, 2, 8, 32, 128, 512)
"""Steps around a peak whose buffers may be enough to prove it. Wider searches take longer than they save."""

_PLACES = 3
"""Steps at the peak around which that is tried."""


@dataclass(frozen=True)
class PeakCore:
    """A size that some order of a graph reaches, and what proves that no order stays below it.

    Attributes:
        graph: Of the ops.
        order: A legal one.
        size: Bytes: the peak of `order`, or more.
        time_limit: Seconds for each proof that needs a search.
    """

    graph: MemoryGraph
    order: Sequence[int]
    size: int
    time_limit: float

    @cached_property
    def buffers(self) -> frozenset[int] | None:
        """Buffers that have the peak on their own, whatever the order; None where none are known."""
        if not self.size:
            return frozenset()
        ranges = live_ranges(self.graph, self.order)
        live = live_bytes(ranges, len(self.order))
        tops = [step for step, size in enumerate(live) if size >= self.size]
        for width in _WIDTHS:
            for step in tops[:_PLACES]:
                near = frozenset(
                    index
                    for index, item in enumerate(ranges)
                    if item.start < item.end and item.start <= step + width and item.end > step - width
                )
                if self._needed(frozenset(range(len(ranges))) - near):
                    return near
        return None

    def stays_without(self, buffers: Collection[int]) -> bool:
        """Whether any order needs the size for the other buffers; False where that is not known."""
        if self.rest(buffers) < self.size or self.buffers is None:
            return False
        return self.buffers.isdisjoint(buffers) or self._needed(buffers)

    def rest(self, buffers: Collection[int]) -> int:
        """The peak of the order for the buffers other than these."""
        return peak(self._without(buffers), self.order)

    def _needed(self, buffers: Collection[int]) -> bool:
        rest = self._without(buffers)
        if lower_bound(rest) >= self.size:
            return True
        return schedule(rest, time_limit=self.time_limit).lower_bound >= self.size

    def _without(self, buffers: Collection[int]) -> MemoryGraph:
        sizes = [
            replace(buffer, size=0) if index in buffers else buffer
            for index, buffer in enumerate(self.graph.buffers)
        ]
        return replace(self.graph, buffers=tuple(sizes))
