"""`serenity analyze` of many models: results, resuming, failures, crashes, interrupts, a cluster."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from contained_harness import PATIENCE, Place, Started, start
from tiny_models import MLIR, two_convolutions, with_external_data

from serenity_mlir.report import read_report

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

# Only processes that analyze a model do `action`, when they open the file that is named.
_SEEDED = """\
import os, sys, time
def hook(event, arguments):
    if event == "open" and str(arguments[0]).endswith({file!r}):
        if "serenity_mlir.pipelines.cli.captured" in sys.argv:
            {action}
sys.addaudithook(hook)
"""
# How many models at once.
JOBS = pytest.mark.parametrize("jobs", ["1", "2"])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(*(tmp_path / name for name in ("in", "out", "tmp", "seeds")))
    for folder in (made.inputs, made.tmp, made.seeds, made.inputs / "nets"):
        folder.mkdir()
    for name in ("b", "c"):
        (made.inputs / "nets" / f"{name}.mlir").write_text(MLIR)
    (made.inputs / "nets" / "notes.txt").write_text("no model")
    return made


def seed(place: Place, file: str, action: str) -> None:
    (place.seeds / "sitecustomize.py").write_text(_SEEDED.format(file=file, action=action))


def unseed(place: Place) -> None:
    (place.seeds / "sitecustomize.py").unlink()


def analyze(place: Place, *options: str, source: str = "nets", status: int = 0) -> str:
    """Run the command; returns what it said."""
    done = place.run("serenity", "analyze", source, "--output", place.out, *options)
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert not list(place.tmp.iterdir())
    return done.stderr


def found(place: Place) -> list[str]:
    return sorted(path.name for path in place.out.iterdir())


def times(place: Place) -> dict[str, int]:
    """When each result was written."""
    return {path.name: path.stat().st_mtime_ns for path in place.out.iterdir() if path.name != "summary.json"}


def made_again(place: Place, before: dict[str, int]) -> set[str]:
    return {name for name, time in times(place).items() if before.get(name) != time}


def summary(place: Place) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((place.out / "summary.json").read_text())
    return rows


def test_results_are_those_of_each_model_alone(place: Place) -> None:
    (place.inputs / "nets" / "a.onnx").write_bytes(two_convolutions().SerializeToString())
    targets = ("--target", "generic", "--target", "riscv64")
    finished = ("--no-schedule", "--rewrite-limit", "600")  # searches end by themselves
    said = analyze(place, "--jobs", "2", *finished, *targets)
    names = [
        f"{model}.{target}" for model in ("a.onnx", "b.mlir", "c.mlir") for target in ("generic", "riscv64")
    ]
    assert found(place) == [*(f"{name}.json" for name in names), "summary.json"]
    alone = place.inputs / "alone.json"
    done = place.run(
        *("serenity", "analyze", "nets/a.onnx", *finished, "--target", "riscv64", "--json", alone)
    )
    assert done.returncode == 0
    report = read_report(place.out / f"{names[1]}.json")
    assert report.memory == read_report(alone).memory
    assert report.model == read_report(alone).model
    assert report.target == "riscv64"
    rows = summary(place)
    assert [row["result"] for row in rows] == names
    assert (rows[1]["model"], rows[1]["target"]) == ("nets/a.onnx", "riscv64")
    arenas = (report.memory.file_order.arena, report.memory.final.arena)
    assert (rows[1]["file_order"], rows[1]["final"]) == arenas
    (line,) = [line for line in said.splitlines() if "a.onnx" in line and "riscv64" in line]
    assert f"{report.memory.final.arena:,}" in line


def test_what_is_there_is_not_made_again(place: Place) -> None:
    analyze(place)
    first = times(place)
    said = analyze(place)
    assert made_again(place, first) == set()
    assert "c.mlir" in said
    assert len(summary(place)) == 2

    (place.inputs / "nets" / "b.mlir").write_text(MLIR.replace("16x16", "32x32"))
    analyze(place)
    assert made_again(place, first) == {"b.mlir.generic.json"}
    analyze(place, "--time-limit", "3")
    assert made_again(place, first) == set(first)

    second = times(place)
    (place.out / "c.mlir.generic.json").write_text('{"schema_version": 1')
    analyze(place, "--time-limit", "3")
    assert made_again(place, second) == {"c.mlir.generic.json"}
    assert read_report(place.out / "c.mlir.generic.json").model.format == "mlir"

    (place.inputs / "nets" / "b.mlir").write_text("junk")
    analyze(place, "--time-limit", "3", status=1)
    assert "b.mlir.generic.error.json" in found(place)
    assert "b.mlir.generic.json" not in found(place)  # it was the result of another model


def test_weights_beside_the_model_count(place: Place) -> None:
    folder = place.inputs / "weighty"
    folder.mkdir()
    weights = folder / "w.bin"
    weights.write_bytes(two_convolutions().graph.initializer[0].raw_data)
    with_external_data(folder / "a.onnx", "w.bin")
    analyze(place, source="weighty")
    before = times(place)
    analyze(place, source="weighty")
    assert made_again(place, before) == set()
    weights.write_bytes(bytes(len(weights.read_bytes())))
    analyze(place, source="weighty")
    assert made_again(place, before) == {"a.onnx.generic.json"}


@JOBS
def test_failures_are_recorded_and_tried_again(jobs: str, place: Place) -> None:
    bad = place.inputs / "nets" / "bad.onnx"
    bad.write_text("junk")
    seed(place, "b.mlir", "os.abort()")
    said = analyze(place, "--jobs", jobs, status=1)
    assert found(place) == [
        *("b.mlir.generic.error.json", "bad.onnx.generic.error.json", "c.mlir.generic.json", "summary.json"),
    ]
    crash = json.loads((place.out / "b.mlir.generic.error.json").read_text())["error"]
    assert crash["file"] == "nets/b.mlir"
    assert "crashed (SIGABRT) during 'import'" in crash["message"]
    assert "in load_model" in crash["details"]
    refused = json.loads((place.out / "bad.onnx.generic.error.json").read_text())["error"]
    assert refused["file"] == "nets/bad.onnx"
    assert "is not an ONNX model" in refused["message"]
    assert refused["hint"] == "export or download the model again"
    assert [row.get("error") for row in summary(place)] == [crash, refused, None]
    assert "error: nets/b.mlir: the compiler crashed (SIGABRT)" in said
    assert "error: 2 of 3 failed" in said

    before = times(place)
    unseed(place)
    bad.unlink()
    analyze(place, "--jobs", jobs)
    assert made_again(place, before) == {"b.mlir.generic.json"}
    assert "b.mlir.generic.error.json" not in found(place)


@pytest.mark.parametrize(("how", "jobs"), [("terminal", "2"), ("SIGTERM", "1"), ("SIGHUP", "2")])
def test_interrupts_keep_what_is_finished(how: str, jobs: str, place: Place) -> None:
    seed(place, "c.mlir", "time.sleep(600)")
    started = start(place, "serenity", "analyze", "nets", "--output", place.out, "--jobs", jobs)
    started.wait_for(lambda: _reached(place, 1) and _busy(place))
    before = times(place)
    started.end(how)
    stdout, stderr = started.process.communicate(timeout=PATIENCE)
    assert (started.process.returncode, stdout) == (130, "")
    assert stderr.startswith("note: interrupted")
    assert len(stderr.splitlines()) == 1
    assert_all_ended(started)
    assert not list(place.tmp.iterdir())
    assert found(place) == ["b.mlir.generic.json"]
    unseed(place)
    analyze(place)
    assert made_again(place, before) == {"c.mlir.generic.json"}


def test_impatient_interrupts(place: Place) -> None:
    seed(place, "b.mlir", "time.sleep(600)")
    started = start(place, "serenity", "analyze", "nets", "--output", place.out, "--jobs", "2")
    started.wait_for(lambda: _reached(place, 1) and _busy(place))
    started.end("terminal")
    started.end("terminal")
    stdout, _ = started.process.communicate(timeout=PATIENCE)
    assert (started.process.returncode, stdout) == (130, "")
    assert_all_ended(started)
    assert not list(place.tmp.iterdir())


def _reached(place: Place, count: int) -> bool:
    return place.out.is_dir() and len([name for name in found(place) if name.endswith(".json")]) == count


def _busy(place: Place) -> bool:
    """Whether a model is being read."""
    return any(note.read_text() == "import" for note in place.tmp.glob("*/serenity-*/stage"))


def assert_all_ended(started: Started) -> None:
    """All were killed by then; the system may take a moment to see to it."""
    deadline = time.monotonic() + 30
    while others := started.others():
        assert time.monotonic() < deadline, others
        time.sleep(0.02)


@JOBS
def test_a_killed_command_takes_its_processes_along(jobs: str, place: Place) -> None:
    seed(place, "c.mlir", "time.sleep(600)")
    started = start(place, "serenity", "analyze", "nets", "--output", place.out, "--jobs", jobs)
    started.wait_for(lambda: _reached(place, 1) and _busy(place))
    (driver,) = [pid for pid in started.others() if _parent(pid) == started.process.pid]
    os.kill(driver, signal.SIGKILL)
    _, stderr = started.process.communicate(timeout=PATIENCE)
    assert started.process.returncode == 1
    assert "was killed (SIGKILL" in stderr
    assert_all_ended(started)
    assert found(place) == ["b.mlir.generic.json"]


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def write_manifest(place: Place, entries: Sequence[object]) -> None:
    (place.inputs / "nets" / "m.json").write_text(json.dumps(entries))


def test_a_manifest(place: Place) -> None:
    (place.inputs / "other").mkdir()
    (place.inputs / "other" / "b.mlir").write_text(MLIR)
    flag = "--iree-stream-resource-min-offset-alignment=128"
    write_manifest(
        place,
        [
            {"model": "b.mlir", "target": "riscv64"},
            {
                "model": "c.mlir",
                "options": ["--no-arena", "--", "--iree-stream-resource-min-offset-alignment=128"],
            },
            {"model": "../other/b.mlir", "target": "riscv64"},
        ],
    )
    analyze(place, "--target", "host", source="nets/m.json")
    rows = summary(place)
    assert [row["target"] for row in rows] == ["riscv64", "host", "riscv64"]
    assert len({row["result"] for row in rows}) == 3
    results = [json.loads((place.out / f"{row['result']}.json").read_text()) for row in rows]
    assert [result["model"]["path"] for result in results] == [
        "nets/b.mlir",
        "nets/c.mlir",
        "nets/../other/b.mlir",
    ]
    assert results[1]["inputs"]["options"] == {
        "own": ["--no-arena"],
        "iree": [flag],
    }


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("[{", "is no manifest"),
        ('[{"model": "b.mlir", "taget": "host"}]', "taget"),
        ('[{"model": "b.mlir", "target": "hots"}]', "did you mean 'host'"),
        ('[{"model": "b.mlir", "options": ["--no-such"]}]', "entry 0, 'nets/b.mlir': No such option"),
        ('[{"model": "b.mlir", "options": ["--jobs", "3"]}]', "--jobs cannot be an option of one model"),
        ('[{"model": "b.mlir", "options": ["--help"]}]', "No such option"),
    ],
)
def test_manifests_that_are_refused(manifest: str, said: str, place: Place) -> None:
    (place.inputs / "nets" / "m.json").write_text(manifest)
    message = analyze(place, source="nets/m.json", status=2)
    assert said in message
    assert message.startswith("error: nets/m.json: ")
    assert not place.out.exists()


@pytest.mark.parametrize(
    ("source", "options", "status", "said"),
    [
        ("nets/b.mlir", [], 2, "--output is for many models"),
        ("nets", ["--json", "x.json"], 2, "--output DIR"),
        ("nets", ["--traffic"], 2, "--traffic is for one model"),
        ("nets", ["--jobs", "2", "--scheduler", "tcp://x:1"], 2, "give one of them"),
        ("nets", ["--target", "hots"], 2, "did you mean 'host'"),
        ("nets", ["--jobs", "0"], 2, "--jobs"),
        ("empty", [], 1, "there is no model in this folder"),
    ],
)
def test_usage(source: str, options: list[str], status: int, said: str, place: Place) -> None:
    (place.inputs / "empty").mkdir()
    assert said in analyze(place, *options, source=source, status=status)
    assert not place.out.exists()


def test_a_place_that_cannot_be_written(place: Place) -> None:
    place.out.write_text("a file")
    done = place.run("serenity", "analyze", "nets", "--output", place.out / "below")
    assert done.returncode == 1
    assert "error: " in done.stderr
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with distributed.LocalCluster(**options, protocol="tcp", dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def test_a_cluster(scheduler: str, place: Place) -> None:
    (place.inputs / "nets" / "bad.onnx").write_text("junk")
    said = analyze(place, "--scheduler", scheduler, status=1)
    assert "error: nets/bad.onnx: is not an ONNX model" in said
    assert "error: 1 of 3 failed" in said
    before = times(place)
    (place.inputs / "nets" / "bad.onnx").unlink()
    analyze(place)
    assert made_again(place, before) == set()


def test_without_the_extra(place: Place) -> None:
    (place.seeds / "distributed.py").write_text("raise ImportError('not there')")
    assert "pip install 'serenity-mlir[dask]'" in analyze(place, "--scheduler", "tcp://x:1", status=2)
