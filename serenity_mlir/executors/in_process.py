"""Work in this process, one item after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from serenity_mlir.executors.interface import Done, Failed, Item, Result


class InProcess:
    """The executor that needs nothing."""

    def map_as_completed(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Done[Result] | Failed]:
        """See `Executor`."""
        for index, item in enumerate(items):
            try:
                value = function(item)
            except Exception as error:  # it is the outcome
                yield Failed(index, error)
            else:
                yield Done(index, value)

    def close(self) -> None:
        """Nothing is held."""
