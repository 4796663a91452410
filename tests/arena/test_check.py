"""The checker finds every fault, and finds none where there is none."""

from __future__ import annotations

import random

import pytest
from arena_cases import interval_slices
from hypothesis import assume, given
from hypothesis import strategies as st
from work_clock import WorkClock

from serenity_mlir.arena import check_plan, plan
from serenity_mlir.errors import CheckFailed
from serenity_mlir.liveness import Slice


def meets(one: Slice, other: Slice) -> bool:
    return max(one.start, other.start) < min(one.end, other.end) and one.size > 0 and other.size > 0


@given(interval_slices(12), st.data())
def test_any_offset_shifted_onto_a_live_neighbour_is_caught(items: list[Slice], data: st.DataObject) -> None:
    pairs = [
        (i, j) for i, one in enumerate(items) for j, two in enumerate(items) if i != j and meets(one, two)
    ]
    assume(pairs)
    moved, onto = data.draw(st.sampled_from(pairs))
    offsets = list(plan(items, alignment=1, time_limit=0.1).offsets)
    lowest = max(offsets[onto] - items[moved].size + 1, 0)
    offsets[moved] = data.draw(st.integers(lowest, offsets[onto] + items[onto].size - 1))
    with pytest.raises(CheckFailed, match="overlap in time and space"):
        check_plan(items, offsets, sum(item.size for item in items) * 2, alignment=1)


@given(interval_slices(10, size=8), st.lists(st.integers(0, 30), min_size=10, max_size=10))
def test_verdict_equals_the_definition(items: list[Slice], offsets: list[int]) -> None:
    offsets = offsets[: len(items)]
    clash = any(
        meets(items[i], items[j])
        and offsets[i] < offsets[j] + items[j].size
        and offsets[j] < offsets[i] + items[i].size
        for i in range(len(items))
        for j in range(i)
    )
    try:
        check_plan(items, offsets, 100, alignment=1)
    except CheckFailed:
        assert clash
    else:
        assert not clash


def test_message_names_both_slices() -> None:
    items = [Slice(0, 1, 4), Slice(1, 4, 8), Slice(3, 6, 8)]
    with pytest.raises(CheckFailed) as caught:
        check_plan(items, [0, 0, 4], 16, alignment=4)
    assert str(caught.value) == (
        "slice 1 (live [1, 4), bytes [0, 8)) and slice 2 (live [3, 6), bytes [4, 12)) "
        "overlap in time and space"
    )


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([4], r"slice 0 \(live \[0, 2\), bytes \[4, 12\)\) is not aligned to 8"),
        ([8], r"slice 0 \(live \[0, 2\), bytes \[8, 16\)\) lies outside the arena of 8 bytes"),
        ([-8], "outside the arena"),
        ([], "0 offsets for 1 slices"),
    ],
)
def test_one_slice_at_fault(offsets: list[int], message: str) -> None:
    with pytest.raises(CheckFailed, match=message):
        check_plan([Slice(0, 2, 8)], offsets, 8, alignment=8)


def test_what_occupies_nothing_overlaps_nothing() -> None:
    items = [Slice(0, 2, 8), Slice(1, 1, 8), Slice(0, 2, 0)]
    check_plan(items, [0, 0, 0], 8, alignment=8)
    with pytest.raises(CheckFailed, match=r"slice 2 .* outside"):
        check_plan(items, [0, 0, 16], 8, alignment=8)


def test_many_slices_are_checked_without_comparing_all_pairs() -> None:
    """100,000 slices: comparing all pairs would take 50,000 lines of code for each."""
    rng = random.Random(0)
    items = [Slice(step, step + rng.randrange(1, 30), 64) for step in range(100_000)]
    offsets = [step % 30 * 64 for step in range(100_000)]
    clock = WorkClock()
    with clock.going():
        check_plan(items, offsets, 30 * 64, alignment=64)
    assert clock.lines < 100 * len(items)  # 24
