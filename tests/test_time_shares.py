"""Shares of a time limit."""

from __future__ import annotations

import pytest

from serenity_mlir import time_shares as module
from serenity_mlir.time_shares import time_shares


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "perf_counter", clock)
    return clock


@pytest.mark.usefixtures("clock")
def test_a_search_that_takes_nothing_leaves_all_to_the_next() -> None:
    assert list(time_shares([1, 2, 1], 4.0)) == pytest.approx([1.0, 8 / 3, 4.0])


def test_a_search_that_takes_some_leaves_the_rest(clock: Clock) -> None:
    shares = time_shares([1, 2, 1], 4.0)
    assert next(shares) == pytest.approx(1.0)
    clock.now += 0.5
    assert next(shares) == pytest.approx(3.5 * 2 / 3)
    clock.now += 2.0
    assert next(shares) == pytest.approx(1.5)


def test_a_search_that_takes_too_long_leaves_nothing(clock: Clock) -> None:
    shares = time_shares([1, 1], 4.0)
    assert next(shares) == pytest.approx(2.0)
    clock.now += 5.0
    assert list(shares) == [0.0]
    assert list(time_shares([], 1.0)) == []
