"""Each executor runs all items, records failures, takes items as it has room, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import work

from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.executors import Done, Executor, Failed, InProcess, Processes
from serenity_mlir.executors.dask import DaskCluster

_PATIENCE = 60.0


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module", params=["in process", "processes", "dask"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    made: Executor
    if request.param == "dask":
        made = DaskCluster(request.getfixturevalue("scheduler"))
    else:
        made = InProcess() if request.param == "in process" else Processes(2)
    try:
        yield made
    finally:
        made.close()


def test_each_item_has_one_outcome(executor: Executor) -> None:
    outcomes = sorted(executor.map_as_completed(work.square, range(7)), key=lambda end: end.index)
    assert [end.index for end in outcomes] == list(range(7))
    for end in outcomes:
        if end.index % 2:
            assert isinstance(end, Failed)
            assert isinstance(end.error, ValueError)
            assert str(end.error) == f"{end.index} is odd"
        else:
            assert end == Done(end.index, end.index**2)


def test_no_items(executor: Executor) -> None:
    assert list(executor.map_as_completed(work.square, [])) == []


def test_items_are_taken_as_there_is_room(executor: Executor) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    outcomes = iter(executor.map_as_completed(work.square, items()))
    for _ in range(3):
        next(outcomes)
    assert len(taken) < 20
    del outcomes
    assert len(list(executor.map_as_completed(work.square, range(3)))) == 3


def test_an_item_that_cannot_be_sent_is_a_failure() -> None:
    executor = Processes(1)
    functions: Iterable[Callable[[], int]] = [lambda: 1]
    (end,) = executor.map_as_completed(callable, functions)
    executor.close()
    assert isinstance(end, Failed)


def test_items_that_kill_their_process_are_the_only_failures() -> None:
    executor = Processes(2)
    outcomes = {end.index: end for end in executor.map_as_completed(work.mortal, range(8))}
    executor.close()
    assert set(outcomes) == set(range(8))
    for index, end in outcomes.items():
        if index in (3, 4):
            assert isinstance(end, Failed)
            assert "died" in str(end.error)
        else:
            assert end == Done(index, index)


def test_a_pool_whose_processes_died_between_two_maps() -> None:
    executor = Processes(1)
    (end,) = executor.map_as_completed(_pid, [0])
    assert isinstance(end, Done)
    os.kill(end.value, signal.SIGKILL)
    _wait_until(lambda: not _runs(end.value))
    assert list(executor.map_as_completed(work.square, [4])) == [Done(0, 16)]
    executor.close()


def test_stopping_early_ends_what_runs(tmp_path: Path) -> None:
    executor = Processes(3)  # has room for a third item, and so asks for it

    def items() -> Iterator[str]:
        yield str(tmp_path)
        yield str(tmp_path)
        _wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(executor.map_as_completed(work.slow, items()))
    pids = [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]
    assert len(pids) == 2
    _wait_until(lambda: not any(map(_runs, pids)))
    assert not list(tmp_path.glob("*.ended"))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_processes_end_with_the_one_that_uses_them(tmp_path: Path) -> None:
    script = tmp_path / "use.py"
    script.write_text(
        "import work\nfrom serenity_mlir.executors import Processes\n"
        "if __name__ == '__main__':\n"
        f"    list(Processes(2).map_as_completed(work.slow, [{str(tmp_path)!r}] * 2))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(work.__file__).parent)}
    user = subprocess.Popen([sys.executable, script], env=environment, stderr=subprocess.DEVNULL)

    def pids() -> list[int]:
        return [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]

    _wait_until(lambda: len(pids()) == 2)
    user.kill()
    user.wait()
    _wait_until(lambda: not any(map(_runs, pids())))
    assert not list(tmp_path.glob("*.ended"))


def test_without_the_extra() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "distributed", None)
        with pytest.raises(UsageError, match="not installed") as raised:
            DaskCluster("tcp://127.0.0.1:8786")
    assert "serenity-mlir[dask]" in str(raised.value)


@pytest.mark.parametrize(
    ("address", "error"), [("tcp://127.0.0.1:1", SerenityError), ("nonsense://x", UsageError)]
)
def test_no_such_scheduler(address: str, error: type[SerenityError]) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    with pytest.raises(error, match=address):
        DaskCluster(address, patience=0.5)


def test_a_scheduler_without_workers() -> None:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    options = {"n_workers": 0, "processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as none, pytest.raises(SerenityError, match="no workers"):
        DaskCluster(none.scheduler_address, patience=0.5)


def _pid(_: int) -> int:
    return os.getpid()


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)
