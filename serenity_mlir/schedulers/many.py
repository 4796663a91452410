"""Many candidate graphs at once, as a search for architectures asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from serenity_mlir.executors.interface import Done, Executor, Failed
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.schedulers.methods import (
    DEFAULT_MAX_STATES,
    DEFAULT_METHOD,
    DEFAULT_TIME_LIMIT,
    check_method,
    schedule,
)
from serenity_mlir.schedulers.result import Schedule


def schedule_many(
    graphs: Iterable[MemoryGraph],
    executor: Executor,
    *,
    method: str = DEFAULT_METHOD,
    time_limit: float = DEFAULT_TIME_LIMIT,
    max_states: int = DEFAULT_MAX_STATES,
) -> Iterator[Schedule | Failed]:
    """The schedule of each graph, or why there is none, in the order of `graphs`.

    Args:
        graphs: Any number; they are taken as the executor has room for them.
        executor: Where the schedules are made.
        method: One of `METHODS`.
        time_limit: Wall time for each graph, in seconds.
        max_states: Search states for each graph.

    Raises:
        ValueError: There is no such method.
    """
    check_method(method)
    function = partial(schedule, method=method, time_limit=time_limit, max_states=max_states)
    early: dict[int, Schedule | Failed] = {}
    due = 0
    for outcome in executor.map_as_completed(function, graphs):
        early[outcome.index] = outcome.value if isinstance(outcome, Done) else outcome
        while due in early:
            yield early.pop(due)
            due += 1
