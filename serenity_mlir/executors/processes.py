"""Work in processes of this machine, which are spawned: forks of a process with threads may hang."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from multiprocessing.connection import Connection

from serenity_mlir.errors import SerenityError
from serenity_mlir.executors.interface import Done, Failed, Item, Result
from serenity_mlir.executors.lifeline import end_with


class Processes:
    """A pool of processes that outlives their deaths.

    When one dies, nobody can say which item killed it. All that ran then run again, each alone: the
    item that kills a process once more is the one that failed.

    Args:
        jobs: How many items run at once, at least 1.
    """

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise ValueError(f"{jobs} jobs")
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._lifeline: Connection | None = None

    def map_as_completed(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Done[Result] | Failed]:
        """See `Executor`."""
        waiting = enumerate(items)
        running: dict[Future[Result], tuple[int, Item]] = {}
        try:
            while True:
                while len(running) < self._jobs and (entry := next(waiting, None)) is not None:
                    running[self._submit(function, entry[1])] = entry
                if not running:
                    return
                finished = wait(running, return_when=FIRST_COMPLETED).done
                if any(isinstance(future.exception(), BrokenExecutor) for future in finished):
                    finished = wait(running).done  # with a pool all that it runs ends
                suspects: deque[tuple[int, Item]] = deque()
                for future in finished:
                    index, item = running.pop(future)
                    if isinstance(future.exception(), BrokenExecutor):
                        suspects.append((index, item))
                    else:
                        yield _outcome(index, future)
                if suspects:
                    self.close()
                while suspects:
                    index, item = suspects.popleft()
                    yield self._alone(function, index, item)
        finally:
            if running:
                self.close()

    def close(self) -> None:
        """End the processes, whatever they do."""
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _alone(self, function: Callable[[Item], Result], index: int, item: Item) -> Done[Result] | Failed:
        future = self._submit(function, item)
        try:
            if not isinstance(future.exception(), BrokenExecutor):
                return _outcome(index, future)
        except BaseException:
            self.close()
            raise
        self.close()
        return Failed(
            index,
            SerenityError(
                "the process that worked on it died", hint="memory may have run out; try fewer jobs"
            ),
        )

    def _submit(self, function: Callable[[Item], Result], item: Item) -> Future[Result]:
        try:
            return self._open().submit(function, item)
        except BrokenExecutor as error:  # it died since
            future: Future[Result] = Future()
            future.set_exception(error)
            return future

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = get_context("spawn")
            theirs, self._lifeline = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(self._jobs, context, initializer=_begin, initargs=(theirs,))
        return self._pool


def _begin(lifeline: Connection) -> None:
    """Interrupts are the parent's to handle; the lifeline then ends this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(lifeline)


def _outcome(index: int, future: Future[Result]) -> Done[Result] | Failed:
    error = future.exception()
    if error is None:
        return Done(index, future.result())
    return Failed(index, error if isinstance(error, Exception) else RuntimeError(f"it ended with {error!r}"))
