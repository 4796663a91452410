"""TFLite's planner against its rule, written down once more without any cleverness."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from serenity_mlir.arena import check_plan
from serenity_mlir.arena.tflite_layout import tflite_layout
from serenity_mlir.liveness import Slice

SLICES = st.lists(
    st.builds(
        lambda start, length, size: Slice(start, start + length, size),
        st.integers(0, 8),
        st.integers(0, 5),
        st.integers(0, 9),
    ),
    max_size=12,
)


def by_the_rule(slices: list[Slice]) -> list[int]:
    """Offsets: largest first, then first allocated; the smallest gap, else on top of what overlaps."""
    offsets: dict[int, int] = {}
    for index in sorted(range(len(slices)), key=lambda i: (-slices[i].size, slices[i].start, i)):
        mine = slices[index]
        blocks = sorted(
            (offset, slices[other].size)
            for other, offset in offsets.items()
            if max(slices[other].start, mine.start) < min(slices[other].end, mine.end) and slices[other].size
        )
        top, gaps = 0, []
        for offset, size in blocks:
            if offset - top >= mine.size:
                gaps.append((offset - top, top))
            top = max(top, offset + size)
        offsets[index] = min(gaps)[1] if gaps else top
    return [offsets[index] for index in range(len(slices))]


@settings(max_examples=300)
@given(SLICES)
def test_it_follows_the_rule(slices: list[Slice]) -> None:
    found = tflite_layout(slices, alignment=1)
    check_plan(slices, found.offsets, found.size, alignment=1)
    expected = by_the_rule(slices)
    for item, mine, offset in zip(slices, found.offsets, expected, strict=True):
        if item.size and item.start < item.end:
            assert mine == offset
    assert found.size >= found.lower_bound


def test_it_wastes_where_size_misleads() -> None:
    slices = [Slice(0, 2, 3), Slice(1, 3, 2), Slice(2, 4, 3), Slice(3, 5, 4), Slice(0, 1, 4)]
    assert tflite_layout(slices, alignment=1).size == 7
    aligned = tflite_layout(slices)
    assert aligned.size == 128
    assert all(offset % 64 == 0 for offset in aligned.offsets)
