"""Off-chip traffic of an order: what it costs that on-chip memory is smaller than the live peak.

Replacement is Belady's: who must leave on-chip memory is the buffer whose next use is farthest
away (SERENITY, MLSys 2020, the off-chip communication of section 4). The model, exactly:

- Buffers move whole. What an op touches is on chip while the op runs.
- Where that does not fit together, the largest of it (of equals the last in the graph) are
  streamed until the rest fits: a streamed buffer takes no on-chip memory and is not kept there;
  each touch reads all of it from off-chip memory, or writes all of it, or, for an update in
  place, both. A buffer larger than on-chip memory is therefore always streamed.
- The first op that touches a buffer writes it, unless it is live-in; other ops read it, and those
  that name it among their `updates` write it too.
- A buffer is clean while off-chip memory holds the same bytes, else dirty. It leaves for free
  if clean, is written out if dirty, and is read in again at its next use.
- A dead buffer (no op left that touches it, and not live-out) is dropped for free.
- The transfers that no order avoids are left out: live-in buffers begin on chip, clean, and
  live-out ones may end there. What is counted is all else, so there is none wherever the live
  peak fits, and some wherever it does not (but for a buffer that is live-in and live-out:
  clean, and past its last use, it may leave for free).

Where all sizes are equal, no replacement policy reads fewer bytes in. Bytes out, and either with
sizes that differ, are those of this policy: an upper bound of what the best policy needs, which is
NP-hard to find.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from serenity_mlir.graph import MemoryGraph

ON_CHIP = (32 << 10, 64 << 10, 128 << 10, 256 << 10)
"""On-chip sizes that reports use, in bytes: those of the paper."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes between on-chip and off-chip memory over one run.

    Attributes:
        bytes_in: Read from off-chip memory.
        bytes_out: Written to it.
    """

    bytes_in: int
    bytes_out: int

    @property
    def total(self) -> int:
        """Bytes in either direction."""
        return self.bytes_in + self.bytes_out


def traffic(graph: MemoryGraph, order: Sequence[int], on_chip: int) -> Traffic:
    """Off-chip traffic of `graph` when its ops run in `order`, in the model above.

    `order` must be legal; that is not checked here.

    Args:
        graph: Sizes in bytes.
        order: Op indices.
        on_chip: Bytes of on-chip memory.

    Raises:
        ValueError: `on_chip` is negative.
    """
    if on_chip < 0:
        raise ValueError(f"on-chip memory of {on_chip} bytes")
    memory = _OnChip(graph, order, on_chip)
    for step in range(len(order)):
        memory.run(step)
    return Traffic(memory.bytes_in, memory.bytes_out)


def streamed(graph: MemoryGraph, op: int, on_chip: int) -> frozenset[int]:
    """The buffers that `op` touches but that are not on chip while it runs."""
    touches = sorted(graph.ops[op].touches, key=lambda index: (-graph.buffers[index].size, -index))
    needed = sum(graph.buffers[index].size for index in touches)
    out = set()
    for index in touches:
        if needed <= on_chip:
            break
        out.add(index)
        needed -= graph.buffers[index].size
    return frozenset(out)


class _OnChip:
    """On-chip memory over time.

    Attributes:
        bytes_in: Read from off-chip memory so far.
        bytes_out: Written to it so far.
    """

    def __init__(self, graph: MemoryGraph, order: Sequence[int], size: int) -> None:
        self.bytes_in = self.bytes_out = 0
        self._graph, self._order, self._size = graph, order, size
        self._sizes = [buffer.size for buffer in graph.buffers]
        self._streamed = [streamed(graph, op, size) for op in order]
        # Steps that touch each buffer, the next one last.
        self._uses: list[list[int]] = [[] for _ in graph.buffers]
        for step in range(len(order) - 1, -1, -1):
            for index in graph.ops[order[step]].touches:
                self._uses[index].append(step)
        self._made = [buffer.live_in for buffer in graph.buffers]
        self._held = {
            index
            for index, buffer in enumerate(graph.buffers)
            if buffer.live_in and (buffer.live_out or self._uses[index])
        }
        self._dirty: set[int] = set()
        self._used = sum(self._sizes[index] for index in self._held)
        # What is on chip, the one to leave first on top; entries that hold no longer are skipped.
        self._victims = [self._key(index) for index in self._held]
        heapify(self._victims)

    def run(self, step: int) -> None:
        """Runs the op of a step."""
        op = self._graph.ops[self._order[step]]
        passing = self._streamed[step]
        staying = [index for index in op.touches if index not in passing]
        for index in passing & self._held:
            self._evict(index)
        self._make_room(staying)
        for index in op.touches:
            writes = not self._made[index] or index in op.updates
            if self._made[index] and index not in self._held:
                self.bytes_in += self._sizes[index]
            if index in passing:
                self.bytes_out += self._sizes[index] * writes
            elif writes:
                self._dirty.add(index)
            self._made[index] = True
        for index in staying:
            self._hold(index)
        for index in op.touches:
            self._uses[index].pop()
            if not self._uses[index] and not self._graph.buffers[index].live_out:
                self._dirty.discard(index)
                self._drop(index)
            elif index in self._held:
                heappush(self._victims, self._key(index))

    def _make_room(self, staying: Sequence[int]) -> None:
        """Evicts what is used last until `staying` fits beside the rest."""
        excess = self._used - self._size
        excess += sum(self._sizes[index] for index in staying if index not in self._held)
        while excess > 0:
            key = heappop(self._victims)
            index = key[-1]
            if index in self._held and key == self._key(index):
                self._evict(index)
                excess -= self._sizes[index]

    def _key(self, index: int) -> tuple[float, bool, int, int]:
        """Who leaves first: the one used last; of equals a clean one, which goes for free; the larger.

        What the present op touches is used soonest of all, so it never leaves to make room.
        """
        uses = self._uses[index]
        kept = bool(uses) and index not in self._streamed[uses[-1]]
        return (-uses[-1] if kept else -math.inf), index in self._dirty, -self._sizes[index], index

    def _evict(self, index: int) -> None:
        if index in self._dirty:
            self.bytes_out += self._sizes[index]
            self._dirty.remove(index)
        self._drop(index)

    def _hold(self, index: int) -> None:
        if index not in self._held:
            self._held.add(index)
            self._used += self._sizes[index]

    def _drop(self, index: int) -> None:
        if index in self._held:
            self._held.remove(index)
            self._used -= self._sizes[index]
