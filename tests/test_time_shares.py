"""Shares of a time limit."""

from __future__ import annotations

import time

import pytest

from serenity_mlir.time_shares import time_shares


def test_a_search_that_takes_nothing_leaves_all_to_the_next() -> None:
    assert list(time_shares([1, 2, 1], 4.0)) == pytest.approx([1.0, 8 / 3, 4.0], rel=0.05)


def test_a_search_that_takes_too_long_leaves_nothing() -> None:
    shares = time_shares([1, 1], 0.01)
    assert next(shares) == pytest.approx(0.005, rel=0.5)
    time.sleep(0.02)
    assert list(shares) == [0.0]
    assert list(time_shares([], 1.0)) == []
