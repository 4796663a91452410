"""Slices for the arena tests: generated, brute-forced and benchmark ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import strategies as st

from serenity_mlir.arena.minimalloc_csv import read_csv
from serenity_mlir.liveness import Slice

CHALLENGING = Path(__file__).parents[3] / "shared" / "data" / "minimalloc_benchmarks" / "challenging"
CAPACITY = 1048576

# One of two among 360,000 random cases of 8 to 14 slices that do not fit their live peak, 7.
ABOVE_PEAK = [
    Slice(7, 9, 1), Slice(8, 9, 3), Slice(4, 7, 2), Slice(3, 7, 2),
    Slice(2, 4, 3), Slice(1, 3, 3), Slice(6, 9, 3), Slice(3, 6, 2),
]  # fmt: skip


def interval_slices(most: int, *, size: int = 300) -> st.SearchStrategy[list[Slice]]:
    """Up to `most` slices, some of them never live or of no bytes."""
    one = st.builds(
        lambda start, length, size: Slice(start, start + length, size),
        st.integers(0, 8),
        st.integers(0, 5),
        st.integers(0, size),
    )
    return st.lists(one, max_size=most)


def optimum(items: Sequence[Slice]) -> int:
    """The smallest arena of `items` at alignment 1.

    Take any plan and let its slices sink, lowest first: none rises, and each ends on top of
    those before it. So it is enough to stack the slices in every order.
    """
    items = [item for item in items if item.size and item.start < item.end]
    best = sum(item.size for item in items)
    for order in itertools.permutations(items):
        tops: list[tuple[Slice, int]] = []
        for item in order:
            below = (top for other, top in tops if other.start < item.end and item.start < other.end)
            tops.append((item, max(below, default=0) + item.size))
        best = min(best, max((top for _, top in tops), default=0))
    return best


def load_challenging(name: str) -> list[Slice]:
    """One of minimalloc's instances, all of which fit `CAPACITY`."""
    if not CHALLENGING.is_dir():
        pytest.skip(f"{CHALLENGING} is absent: minimalloc's benchmarks are not part of the project")
    return [record.slice for record in read_csv(CHALLENGING / f"{name}.{CAPACITY}.csv")]
