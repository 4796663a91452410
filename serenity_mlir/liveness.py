"""Live ranges and live bytes of an order (DESIGN: "The memory model")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from serenity_mlir.graph import MemoryGraph


@dataclass(frozen=True, slots=True)
class Slice:
    """A buffer in time: live during the steps `start <= step < end`, `size` bytes."""

    start: int
    end: int
    size: int


def live_ranges(graph: MemoryGraph, order: Sequence[int]) -> list[Slice]:
    """The live range of each buffer of `graph` when its ops run in `order`.

    A buffer that no op touches, and that is neither live-in nor live-out, gets an empty
    range at step 0. `order` must be legal; that is not checked here.
    """
    steps = len(order)
    first = [0 if buffer.live_in else steps for buffer in graph.buffers]
    last = [steps - 1 if buffer.live_out else -1 for buffer in graph.buffers]
    for step, op in enumerate(order):
        for index in graph.ops[op].touches:
            first[index] = min(first[index], step)
            last[index] = max(last[index], step)
    return [
        Slice(start, end + 1, buffer.size) if start <= end else Slice(0, 0, buffer.size)
        for buffer, start, end in zip(graph.buffers, first, last, strict=True)
    ]


def live_bytes(ranges: Sequence[Slice], steps: int) -> list[int]:
    """Bytes live while each of `steps` steps runs."""
    delta = [0] * (steps + 1)
    for item in ranges:
        if item.start < item.end:
            delta[item.start] += item.size
            delta[item.end] -= item.size
    live, out = 0, []
    for change in delta[:steps]:
        live += change
        out.append(live)
    return out


def peak(graph: MemoryGraph, order: Sequence[int]) -> int:
    """The most bytes live at once over `order`; 0 for an empty graph."""
    return max(live_bytes(live_ranges(graph, order), len(order)), default=0)
