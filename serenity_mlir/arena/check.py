"""The independent judge of arena plans; it shares no code with the planners."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from serenity_mlir.errors import CheckFailed
from serenity_mlir.liveness import Slice


def check_plan(slices: Sequence[Slice], offsets: Sequence[int], size: int, *, alignment: int) -> None:
    """Prove that no two slices that are live at once share a byte, and that all lie in the arena.

    A slice that is never live or has no bytes occupies nothing: only its offset is judged.
    A sweep over time keeps the live byte ranges sorted. They are disjoint until the first
    fault, so each slice that comes to life need only be compared with its two neighbours.

    Args:
        slices: The slices, half-open in time, sizes in bytes.
        offsets: Bytes from the arena's start, one a slice.
        size: Bytes of the arena.
        alignment: Bytes that every offset must be a multiple of.

    Raises:
        CheckFailed: naming the slice, or the two slices, that disprove the plan.
    """
    if len(offsets) != len(slices):
        raise CheckFailed(f"the plan has {len(offsets)} offsets for {len(slices)} slices")
    for index, (item, offset) in enumerate(zip(slices, offsets, strict=True)):
        if offset % alignment:
            raise CheckFailed(f"{_describe(index, item, offset)} is not aligned to {alignment}")
        occupied = item.size if item.start < item.end else 0
        if offset < 0 or offset + occupied > size:
            raise CheckFailed(f"{_describe(index, item, offset)} lies outside the arena of {size} bytes")
    _check_disjoint(slices, offsets)


def _check_disjoint(slices: Sequence[Slice], offsets: Sequence[int]) -> None:
    """Sweep over time; ends come before starts of the same step, because ranges are half-open."""
    occupying = [index for index, item in enumerate(slices) if item.size > 0 and item.start < item.end]
    starts = [(slices[index].start, 1, index) for index in occupying]
    ends = [(slices[index].end, 0, index) for index in occupying]
    live: list[tuple[int, int]] = []
    for _, begins, index in sorted(starts + ends):
        key = (offsets[index], index)
        at = bisect_left(live, key)
        if not begins:
            del live[at]
            continue
        for other in live[max(at - 1, 0) : at + 1]:
            lower, upper = sorted((key, other))
            if lower[0] + slices[lower[1]].size > upper[0]:
                first, second = sorted((index, other[1]))
                raise CheckFailed(
                    f"{_describe(first, slices[first], offsets[first])} and "
                    f"{_describe(second, slices[second], offsets[second])} overlap in time and space"
                )
        live.insert(at, key)


def _describe(index: int, item: Slice, offset: int) -> str:
    return f"slice {index} (live [{item.start}, {item.end}), bytes [{offset}, {offset + item.size}))"
