"""One time limit for several searches, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter


def time_shares(weights: Sequence[int], time_limit: float) -> Iterator[float]:
    """Seconds for each search, by weight; take each just before its search begins.

    What one search leaves of its share is there for those after it.

    Args:
        weights: Positive, one a search.
        time_limit: Seconds for all of them.
    """
    deadline = perf_counter() + time_limit
    remaining = sum(weights)
    for weight in weights:
        yield max(deadline - perf_counter(), 0.0) * weight / remaining
        remaining -= weight
