"""What stock IREE makes of a `stream.resource.pack`: the baseline, byte for byte.

IREE's `iree-stream-layout-slices` packs slices of constant size in the order in which the op
lists them (it takes the scheme from TensorFlow Lite's simple memory arena). Each slice looks
at the slices that were placed before it and are live at some same time, from the lowest
offset up, and takes the smallest gap that holds it; where none does, it goes on top of them.
The high-water mark is the arena. Nothing is sorted and nothing is revised, hence the waste.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from serenity_mlir.arena.problem import live_peak, overlaps
from serenity_mlir.arena.result import ArenaPlan


class PackSlice(NamedTuple):
    """One entry `[first, last] = size` of `stream.resource.pack`; both steps are inclusive."""

    first: int
    last: int
    size: int


def iree_layout(
    slices: Sequence[PackSlice], *, offset_alignment: int = 64, range_alignment: int = 64
) -> ArenaPlan:
    """Offsets and arena that `iree-stream-layout-slices` gives `slices`, in their order.

    Args:
        slices: As the op lists them.
        offset_alignment: `min_buffer_offset_alignment` of the resource config, in bytes.
        range_alignment: `min_buffer_range_alignment` of the resource config, in bytes; sizes
            and the arena are rounded up to it.

    Returns:
        The plan; its lower bound is the live peak of the rounded sizes.
    """
    began = time.monotonic()
    starts = [item.first for item in slices]
    ends = [item.last + 1 for item in slices]
    sizes = [_align(item.size, range_alignment) for item in slices]
    offsets: list[int] = []
    for index, others in enumerate(overlaps(starts, ends)):
        # Of several at one offset IREE walks the latest first.
        placed = sorted((offsets[other], -other) for other in others if other < index)
        blocks = [(offset, sizes[-other]) for offset, other in placed]
        offsets.append(_best_gap(blocks, sizes[index], offset_alignment))
    top = max((offset + size for offset, size in zip(offsets, sizes, strict=True)), default=0)
    bound = live_peak(starts, ends, sizes)
    return ArenaPlan(
        tuple(offsets), _align(top, range_alignment), bound, "iree", seconds=time.monotonic() - began
    )


def _best_gap(blocks: Sequence[tuple[int, int]], size: int, alignment: int) -> int:
    """The offset for `size` bytes among `blocks` of (offset, size), sorted by offset.

    A gap is measured from its aligned start when it competes and from its true start once it
    leads, as IREE does: it matters only where the two alignments differ.
    """
    top = 0
    chosen: int | None = None
    smallest = 0
    for offset, height in blocks:
        aligned = _align(top, alignment)
        if aligned + size <= offset and (chosen is None or offset - aligned < smallest):
            chosen, smallest = aligned, offset - top
        top = max(top, offset + height)
    return _align(top, alignment) if chosen is None else chosen


def _align(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment
