"""plan() and check_plan() on generated slices."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serenity_mlir.arena import check_plan, plan
from serenity_mlir.liveness import Slice


def slices(most: int, *, size: int = 300) -> st.SearchStrategy[list[Slice]]:
    one = st.builds(
        lambda start, length, size: Slice(start, start + length, size),
        st.integers(0, 8),
        st.integers(0, 5),
        st.integers(0, size),
    )
    return st.lists(one, max_size=most)


@given(slices(20), st.sampled_from([1, 64]))
def test_every_plan_passes_the_checker(items: list[Slice], alignment: int) -> None:
    result = plan(items, alignment=alignment, time_limit=0.05)
    check_plan(items, result.offsets, result.size, alignment=alignment)
    assert result.lower_bound <= result.size
    assert result.size % alignment == 0
