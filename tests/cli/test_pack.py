"""`serenity pack`: minimalloc's CSV in and out, capacity, exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from serenity_mlir.arena import check_plan
from serenity_mlir.arena.minimalloc_csv import read_csv
from serenity_mlir.errors import EXIT_OVER_BUDGET
from serenity_mlir.pipelines.cli import main as cli

EXAMPLE = Path(__file__).parents[3] / "shared/data/minimalloc_benchmarks/examples/input.12.csv"
BUFFERS = "id,lower,upper,size\nconv,0,2,6\nadd,1,4,4\npool,3,6,5\nfc,5,7,3\n"
# Their live peak is 7, and no plan needs less than 8.
ABOVE_PEAK = """\
id,lower,upper,size
a,7,9,1
b,8,9,3
c,4,7,2
d,3,7,2
e,2,4,3
f,1,3,3
g,6,9,3
h,3,6,2
"""


def run(*arguments: object) -> int:
    """The exit status of a command line."""
    return cli.main([str(argument) for argument in arguments])


@pytest.fixture
def buffers(tmp_path: Path) -> Path:
    path = tmp_path / "buffers.csv"
    path.write_text(BUFFERS)
    return path


def planned(before: Path, after: Path, capacity: int, alignment: int = 1) -> None:
    """`after` is `before` with offsets that the independent checker accepts."""
    given, placed = read_csv(before), read_csv(after)
    assert [(item.name, item.slice) for item in placed] == [(item.name, item.slice) for item in given]
    offsets = [item.offset for item in placed if item.offset is not None]
    check_plan([item.slice for item in given], offsets, capacity, alignment=alignment)


def test_offsets_are_added(buffers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "plan.csv"
    assert run("pack", buffers, "-o", output) == 0
    planned(buffers, output, 10)
    assert "4 buffers in 10 bytes (0.0 KiB), proven minimal" in capsys.readouterr().err


def test_a_plan_is_an_input_again(buffers: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert run("pack", buffers, "-o", first) == run("pack", first, "-o", second) == 0
    assert first.read_bytes() == second.read_bytes()


def test_its_input_is_not_written_over(
    buffers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = buffers.read_bytes()
    (tmp_path / "link.csv").symlink_to(buffers)
    for output in (buffers, tmp_path / "link.csv"):
        assert run("pack", buffers, "-o", output) == 2
        assert "it is an input of the command" in capsys.readouterr().err
    assert buffers.read_bytes() == before


def test_alignment(buffers: Path, tmp_path: Path) -> None:
    output = tmp_path / "plan.csv"
    assert run("pack", buffers, "-o", output, "--alignment", 4) == 0
    planned(buffers, output, 12, alignment=4)


@pytest.mark.parametrize("capacity", [74, 100, 127])
def test_what_alignment_leaves_after_the_last_buffer_is_not_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], capacity: int
) -> None:
    source, output = tmp_path / "buffers.csv", tmp_path / "plan.csv"
    source.write_text("id,lower,upper,size\na,0,2,10\nb,0,2,10\n")
    arguments = ("pack", source, "-o", output, "--alignment", 64)
    assert run(*arguments, "--capacity", capacity) == 0
    planned(source, output, 74, alignment=64)
    assert "2 buffers in 74 bytes (0.1 KiB), proven minimal" in capsys.readouterr().err
    assert run(*arguments, "--capacity", 73) == EXIT_OVER_BUDGET
    assert (
        "no plan fits 73 bytes (0.1 KiB): at least 74 bytes (0.1 KiB) are needed, which is proven"
        in capsys.readouterr().err
    )


def test_minimallocs_own_example(tmp_path: Path) -> None:
    if not EXAMPLE.exists():
        pytest.skip(f"{EXAMPLE} is absent: minimalloc's benchmarks are not part of the project")
    output = tmp_path / "output.12.csv"
    assert run("pack", EXAMPLE, "-o", output, "--capacity", 12) == 0
    planned(EXAMPLE, output, 12)
    assert run("pack", EXAMPLE, "-o", tmp_path / "output.11.csv", "--capacity", 11) == EXIT_OVER_BUDGET


@pytest.mark.parametrize("capacity", [0, 6, 7])
def test_a_capacity_that_nothing_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], capacity: int
) -> None:
    source, output = tmp_path / "buffers.csv", tmp_path / "plan.csv"
    source.write_text(ABOVE_PEAK)
    output.write_text("kept")
    assert run("pack", source, "-o", output, "--capacity", capacity) == EXIT_OVER_BUDGET
    assert output.read_text() == "kept"
    message = capsys.readouterr().err
    assert (
        f"{source}: no plan fits {capacity} bytes (0.0 KiB): at least 8 bytes (0.0 KiB) are needed" in message
    )
    assert run("pack", source, "-o", output, "--capacity", 8) == 0
    planned(source, output, 8)


def test_a_capacity_that_time_is_too_short_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "buffers.csv", tmp_path / "plan.csv"
    source.write_text(ABOVE_PEAK)
    assert run("pack", source, "-o", output, "--capacity", 7, "--time-limit", 0) == EXIT_OVER_BUDGET
    assert not output.exists()
    assert "it is not proven that none fits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,lower,upper,size\na,0,1,2\nb,0,1,two\n", "line 3: size 'two' is not an integer"),
        ("id,lower,upper\na,0,1\n", "line 1: there is no column 'size'"),
        ("id,lower,upper,size,gaps\na,0,9,2,3-4\n", "line 1: unknown column 'gaps'"),
        ("id,lower,upper,size\na,4,1,2\n", "line 2: upper 1 is before lower 4"),
    ],
)
def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    source = tmp_path / "bad.csv"
    source.write_text(text)
    assert run("pack", source, "-o", tmp_path / "plan.csv") == 1
    assert f"{source}: {message}" in capsys.readouterr().err
    assert not (tmp_path / "plan.csv").exists()


def test_no_input_and_no_place_for_the_output(
    buffers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("pack", tmp_path / "absent.csv", "-o", tmp_path / "plan.csv") == 1
    assert "absent.csv: cannot be read" in capsys.readouterr().err
    assert run("pack", buffers, "-o", tmp_path / "absent" / "plan.csv") == 1
    assert "cannot be written" in capsys.readouterr().err
    assert run("pack", buffers) == 2


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1"])
def test_time_that_no_clock_can_be_compared_with(
    buffers: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], seconds: str
) -> None:
    assert run("pack", buffers, "-o", tmp_path / "plan.csv", "--time-limit", seconds) == 2
    assert "--time-limit" in capfd.readouterr().err
    assert not (tmp_path / "plan.csv").exists()


def test_no_buffers(tmp_path: Path) -> None:
    source, output = tmp_path / "none.csv", tmp_path / "plan.csv"
    source.write_text("id,lower,upper,size\n")
    assert run("pack", source, "-o", output) == 0
    assert read_csv(output) == []
