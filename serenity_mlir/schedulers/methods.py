"""The schedulers by name, behind one entry point."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.schedulers.driver import best_schedule
from serenity_mlir.schedulers.result import Schedule
from serenity_mlir.schedulers.serenity.scheduler import Serenity

DEFAULT_METHOD = "default"
DEFAULT_TIME_LIMIT = 10.0
DEFAULT_MAX_STATES = 2_000_000


class Scheduler(Protocol):
    """What every method is."""

    def __call__(self, graph: MemoryGraph, *, time_limit: float, max_states: int) -> Schedule:
        """The best order found within the limits."""


METHODS: Mapping[str, Scheduler] = MappingProxyType(
    {DEFAULT_METHOD: best_schedule}
    | {
        parts.method: parts.schedule
        for parts in (
            Serenity(),
            Serenity(divide=True),
            Serenity(soft_budgeting=True),
            Serenity(divide=True, soft_budgeting=True),
        )
    }
)
"""`default`, and SERENITY as published: `dp`, with divide and conquer (`+dc`), soft budgets (`+asb`)."""


def schedule(
    graph: MemoryGraph,
    *,
    method: str = DEFAULT_METHOD,
    time_limit: float = DEFAULT_TIME_LIMIT,
    max_states: int = DEFAULT_MAX_STATES,
) -> Schedule:
    """The order of `graph` with the smallest peak, or the best found within the limits.

    Never worse than the best baseline, unless the method proves its order optimal anyway. By the
    default method file order stays wherever no better order is known. The same graph gives the same
    order, unless the time limit cuts the search short.

    Args:
        graph: What to order.
        method: One of `METHODS`.
        time_limit: Wall time to spend, in seconds.
        max_states: Search states to spend, never more. They bound the memory: see `best_schedule` and
            `dynamic_programming` for what one takes.

    Raises:
        ValueError: There is no such method.
        CheckFailed: The order found is not legal or not what it was said to be: our fault.
    """
    check_method(method)
    return METHODS[method](graph, time_limit=time_limit, max_states=max_states)


def check_method(method: str) -> None:
    """Raises a ValueError unless `method` is one of `METHODS`."""
    if method not in METHODS:
        raise ValueError(f"no scheduling method '{method}': methods are {', '.join(METHODS)}")
