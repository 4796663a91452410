"""`serenity bench packing`: what it reads, the figures of a small instance, its messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import serenity_mlir.pipelines.bench.packing as work
from serenity_mlir.arena import ArenaPlan, plan
from serenity_mlir.liveness import Slice
from serenity_mlir.pipelines.bench.packing import HEADINGS, instances, measure, row
from serenity_mlir.pipelines.cli import main as cli

BUFFERS = "id,lower,upper,size\nconv,0,2,6\nadd,1,4,4\npool,3,6,5\nfc,5,7,3\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "set").mkdir()
    for name in ("b.9.csv", "a.10.csv"):
        (tmp_path / "set" / name).write_text(BUFFERS)
    return tmp_path / "set"


def run(*arguments: object) -> int:
    """The exit status of a command line."""
    return cli.main(["bench", "packing", *map(str, arguments)])


def test_the_name_says_the_capacity(folder: Path) -> None:
    first, second = (measure(path, limit=1, repeats=3) for path in instances([folder]))
    assert (first.name, first.slices, first.peak, first.capacity) == ("a.10", 4, 10, 10)
    assert len(first.fits) == 3
    assert None not in first.fits
    assert first.smallest.optimal
    assert first.smallest.size == 10
    assert second.fits == (None, None, None)


def test_rows_say_what_was_not_reached(folder: Path) -> None:
    fits, fails = (row(measure(path, limit=1)) for path in instances([folder]))
    assert len(fits) == len(fails) == len(HEADINGS)
    assert (fits[:3], fits[6:8]) == (["a.10", "4", "10"], ["10", "yes"])
    assert all(0 <= float(seconds) < 1 for seconds in fits[3:5])
    assert fails[3:5] == ["-", "-"]


def test_the_smallest_arena_is_no_larger_than_one_that_fitted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_to_fit(
        slices: Sequence[Slice], *, alignment: int, time_limit: float, capacity: int = 0
    ) -> ArenaPlan:
        found = plan(slices, alignment=alignment, time_limit=time_limit, capacity=capacity)
        return found if capacity else ArenaPlan((0, 6, 10, 15), 18, 7, "poor", seconds=time_limit)

    monkeypatch.setattr(work, "plan", only_to_fit)
    found = measure(instances([folder])[0], limit=1)
    assert None not in found.fits
    assert found.smallest.size == 10
    assert found.smallest.lower_bound == 10
    assert found.smallest.seconds == 1
    assert row(found)[6] == "10"


def test_table_and_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "packing.md"
    assert run(folder, "--limit", 1, "--capacity", 12, "-o", output) == 0
    assert "a.10" in capsys.readouterr().err
    text = output.read_text()
    assert f"`serenity bench packing {folder} --limit 1 --repeats 1 --capacity 12`" in text
    seconds = r"\d\.\d\d"
    assert re.search(
        rf"^\| b\.9 \| 4 \| 10 \| {seconds} \| {seconds} \|  \| 10 \| yes \| {seconds} \|$", text, re.M
    )


def test_no_folder_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run() == 2
    assert "name a folder of instances" in capsys.readouterr().err
    assert run(tmp_path) == 2
    assert "has no CSV file" in capsys.readouterr().err
    assert run(tmp_path / "absent") == 1


def test_no_capacity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text(BUFFERS)
    assert run(path) == 1
    assert "give --capacity BYTES" in capsys.readouterr().err
    path.write_text("id,lower,upper,size\n")
    assert run(path, "--capacity", 1) == 1
    assert f"{path}: lists no buffers" in capsys.readouterr().err
