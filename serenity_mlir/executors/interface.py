"""What every executor can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Done(Generic[Result]):
    """What came of item number `index`."""

    index: int
    value: Result


@dataclass(frozen=True, slots=True)
class Failed:
    """Why nothing came of item number `index`."""

    index: int
    error: Exception


class Executor(Protocol):
    """Applies a function to many items, wherever that may be."""

    def map_as_completed(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Done[Result] | Failed]:
        """Apply `function` to each item; one outcome an item, in the order in which they end.

        A failure is the outcome of its item, and the rest goes on. Items are taken as there is room for
        them, so there may be any number. One map at a time. Where the caller stops early, what runs is
        abandoned. Function, items and results must pickle.
        """
        ...

    def close(self) -> None:
        """Give back what the executor holds; what still runs is abandoned."""
        ...
