"""Peaks of random legal orders: how rare a good order is (SERENITY, MLSys 2020, figure 3)."""

from __future__ import annotations

import random
from collections import Counter

from serenity_mlir.graph import MemoryGraph


def random_peaks(graph: MemoryGraph, count: int, *, seed: int) -> dict[int, int]:
    """How many of `count` random orders have each peak, by rising peak.

    Each step runs one of the ready ops, each with the same chance. That is not the same as every
    order with the same chance; it is what a scheduler does that does not care.

    Args:
        graph: What to order.
        count: Orders to draw.
        seed: Of the draws.
    """
    chance = random.Random(seed)  # noqa: S311  (no secret)
    walk = _Walk(graph)
    return dict(sorted(Counter(walk.peak(chance) for _ in range(count)).items()))


class _Walk:
    """What one order after another needs of a graph."""

    def __init__(self, graph: MemoryGraph) -> None:
        self._succs = graph.succs
        self._missing = [len(preds) for preds in graph.preds]
        self._ready = [op for op, count in enumerate(self._missing) if not count]
        touched = [0] * len(graph.buffers)
        for op in graph.ops:
            for index in op.touches:
                touched[index] += 1
        # A buffer that is live-out has one more user that never comes.
        self._left = [count + buffer.live_out for count, buffer in zip(touched, graph.buffers, strict=True)]
        self._fresh = [not buffer.live_in for buffer in graph.buffers]
        self._sizes = [buffer.size for buffer in graph.buffers]
        self._touches = [op.touches for op in graph.ops]
        self._live = sum(
            buffer.size
            for buffer, left in zip(graph.buffers, self._left, strict=True)
            if buffer.live_in and left
        )

    def peak(self, chance: random.Random) -> int:
        """The peak of one more random order."""
        missing, left, fresh = self._missing.copy(), self._left.copy(), self._fresh.copy()
        ready, live, most = self._ready.copy(), self._live, self._live if self._missing else 0
        while ready:
            pick = int(chance.random() * len(ready))
            op, ready[pick] = ready[pick], ready[-1]
            ready.pop()
            for index in self._touches[op]:
                if fresh[index]:
                    fresh[index] = False
                    live += self._sizes[index]
            most = max(most, live)
            for index in self._touches[op]:
                left[index] -= 1
                if not left[index]:
                    live -= self._sizes[index]
            for succ in self._succs[op]:
                missing[succ] -= 1
                if not missing[succ]:
                    ready.append(succ)
        return most
