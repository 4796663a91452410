"""Work on a Dask cluster (extra `dask`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.executors.interface import Done, Failed, Item, Result

_PATIENCE = 10.0
_AHEAD = 2
"""Items handed out for each thread of the cluster, so that none waits for the next one."""


class DaskCluster:
    """The workers of a scheduler that is there already; this package must be installed on them.

    What is abandoned and already runs ends on its worker, and its result is dropped.

    Args:
        address: Where the scheduler listens, `tcp://host:8786` say.
        patience: Seconds to wait for the scheduler, and for its first worker.

    Raises:
        UsageError: The extra `dask` is not installed, or the address is none.
        SerenityError: There is no such scheduler, or it has no workers.
    """

    def __init__(self, address: str, *, patience: float = _PATIENCE) -> None:
        try:
            # Typed in part only, and not at all where the extra is not installed.
            self._dask: Any = import_module("distributed")
        except ImportError as error:
            raise UsageError(
                "Dask is not installed", hint="pip install 'serenity-mlir[dask]', here and on the workers"
            ) from error
        try:
            self._dask.comm.get_address_host_port(address)
            self._client = self._dask.Client(address, timeout=patience, set_as_default=False)
        except ValueError as error:
            raise UsageError(f"'{address}' is no address: {error}", hint="tcp://HOST:PORT is one") from error
        except OSError as error:  # a timeout is one
            raise SerenityError(
                f"no Dask scheduler answers at '{address}'", hint="start one with `dask scheduler`"
            ) from error
        try:
            self._client.wait_for_workers(1, timeout=patience)
        except TimeoutError as error:
            self.close()
            raise SerenityError(
                f"the Dask scheduler at '{address}' has no workers", hint=f"start some: dask worker {address}"
            ) from error

    def map_as_completed(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Done[Result] | Failed]:
        """See `Executor`."""
        waiting = enumerate(items)
        running: dict[Any, int] = {}
        ended = self._dask.as_completed(loop=self._client.loop)
        try:
            while True:
                while len(running) < self._room() and (entry := next(waiting, None)) is not None:
                    index, item = entry
                    future = self._client.submit(function, item, pure=False)
                    running[future] = index
                    ended.add(future)
                if not running:
                    return
                future = next(ended)
                yield _outcome(running.pop(future), future)
        finally:
            self._client.cancel(list(running))

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()

    def _room(self) -> int:
        threads: int = sum(self._client.nthreads().values())
        return _AHEAD * max(1, threads)


def _outcome(index: int, future: Any) -> Done[Any] | Failed:
    if future.status == "cancelled":
        return Failed(index, SerenityError("the cluster cancelled it", hint="see the scheduler's log"))
    error = future.exception()
    return Done(index, future.result()) if error is None else Failed(index, error)
