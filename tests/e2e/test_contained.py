"""Crashes, interrupts and faults of our own are contained: a status, a message, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from contained_harness import NEXT_STAGE, PATIENCE, READING, RENAMING, Place, assert_interrupted, start
from tiny_models import MLIR, two_convolutions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

IREE_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(*(tmp_path / name for name in ("in", "out", "tmp", "seeds")))
    for folder in (made.inputs, made.out, made.tmp, made.seeds):
        folder.mkdir()
    (made.inputs / "m.onnx").write_bytes(two_convolutions().SerializeToString())
    (made.inputs / "m.mlir").write_text(MLIR)
    return made


def test_crash_in_code_generation(place: Place) -> None:
    """LLVM has no such target, and IREE goes on without one."""
    crash = ("--", "--iree-llvmcpu-target-triple=foo-bar")
    done = place.run("serenity", "compile", "-o", place.out / "old.onnx", "m.onnx", *crash)
    assert done.returncode == 1
    assert done.stderr.count("note: m.onnx: the compiler crashed (SIGSEGV) during 'choose rewrites'") == 1
    assert "error: m.onnx: the compiler crashed (SIGSEGV) during 'compile with IREE'" in done.stderr
    assert not list(place.out.iterdir())
    kept = place.kept()
    assert f"hint: what shows it again is in {kept}" in done.stderr
    assert (kept / "m.onnx").read_bytes() == (place.inputs / "m.onnx").read_bytes()
    assert "to_phase" in (kept / "stack.txt").read_text()
    text = (kept / "command.sh").read_text()
    assert "SIGSEGV" in text
    again = subprocess.run(["bash", kept / "command.sh"], capture_output=True, check=False)
    assert again.returncode in (-signal.SIGSEGV, 128 + signal.SIGSEGV)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGKILL])
def test_signals(number: signal.Signals, place: Place) -> None:
    place.seed(READING, f"os.kill(os.getpid(), {int(number)})")
    done = place.run("serenity", "analyze", "m.onnx", "--json", place.out / "r.json")
    assert done.returncode == 1
    assert done.stderr.count("error: ") == 1
    assert done.stderr.startswith("error: m.onnx: the compiler ")
    assert number.name in done.stderr
    assert "during 'import'" in done.stderr
    assert not list(place.out.iterdir())
    assert (place.kept() / "m.onnx").exists()


def test_crash_of_opt_on_stdin(place: Place) -> None:
    """Nobody could read stdin again, so it is kept too."""
    place.seed(NEXT_STAGE, "os.abort()", times=2)
    done = place.run("serenity-opt", "-", "--cse", "-o", place.out / "x.mlir", data=MLIR)
    assert done.returncode == 1
    assert "error: <stdin>: the compiler crashed (SIGABRT) during 'parse'" in done.stderr
    assert not list(place.out.iterdir())
    assert (place.kept() / "stdin.mlir").read_text() == MLIR


def test_half_written_files_go_with_a_crash(place: Place) -> None:
    (place.out / "x.vmfb").write_text("old")
    place.seed(RENAMING, "os.abort()")
    done = place.run("serenity", "compile", "m.onnx", "-o", place.out / "x.vmfb")
    assert done.returncode == 1
    assert "crashed (SIGABRT)" in done.stderr
    assert [path.name for path in place.out.iterdir()] == ["x.vmfb"]
    assert (place.out / "x.vmfb").read_text() == "old"


def test_temporary_files_go_with_a_crash(place: Place) -> None:
    """A linker's, say, which only native code knows."""
    place.seed(READING, "import tempfile; tempfile.mkstemp(); os.abort()")
    assert place.run("serenity", "analyze", "m.onnx").returncode == 1
    assert place.kept()


@pytest.mark.parametrize("tool", ["serenity", "serenity-opt", "serenity-iree-compile"])
def test_native_code_that_calls_exit(tool: str, place: Place) -> None:
    place.seed(("import", "serenity_mlir.console"), "os._exit(1)")
    done = place.run(tool, "m.mlir")
    assert done.returncode == 1
    assert "error: IREE gave up with exit status 1" in done.stderr
    place.assert_nothing_left()


@pytest.mark.parametrize("debug", [False, True])
def test_faults_of_ours(debug: bool, place: Place) -> None:
    place.seed(READING, "raise IndexError('seeded')")
    flags = ["--debug"] if debug else []
    done = place.run("serenity", "compile", "m.onnx", "-o", place.out / "x.vmfb", *flags)
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) == debug
    assert "error: m.onnx: this is a fault of serenity during 'import': IndexError: seeded" in done.stderr
    assert "--debug shows the traceback" in done.stderr
    assert not list(place.out.iterdir())
    kept = place.kept()
    assert "IndexError: seeded" in (kept / "traceback.txt").read_text()
    assert (kept / "m.onnx").exists()


def test_memory_that_runs_out(place: Place) -> None:
    place.seed(READING, "raise MemoryError")
    done = place.run("serenity", "analyze", "m.onnx")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: memory ran out")
    place.assert_nothing_left()


def test_files_in_the_working_directory_are_not_imported(place: Place) -> None:
    for name in ("click.py", "numpy.py", "onnx.py"):
        (place.inputs / name).write_text("raise SystemExit('taken from the working directory')")
    done = place.run("serenity", "analyze", "m.onnx")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", ["terminal", "SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupt_while_reading(how: str, place: Place) -> None:
    place.seed(READING, "time.sleep(600)")
    started = start(place, "serenity", "compile", "m.onnx", "-o", place.out / "x.vmfb")
    started.wait_for(lambda: started.stage() == "import")
    started.end(how)
    assert_interrupted(started)
    place.assert_nothing_left()


def test_interrupt_of_the_worker_alone(place: Place) -> None:
    place.seed(READING, "time.sleep(600)")
    started = start(place, "serenity", "compile", "m.onnx", "-o", place.out / "x.vmfb")
    started.wait_for(lambda: started.stage() == "import")
    (worker,) = started.others()
    os.kill(worker, signal.SIGINT)
    assert_interrupted(started)
    place.assert_nothing_left()


@pytest.mark.parametrize("how", ["terminal", "SIGTERM"])
def test_interrupt_in_native_code(how: str, light_model: Path, place: Place) -> None:
    started = start(place, "serenity", "compile", light_model, "-o", place.out / "x.vmfb")
    started.wait_for(lambda: started.stage() == "compile with IREE")
    started.end(how)
    assert_interrupted(started)
    place.assert_nothing_left()


@pytest.fixture
def light_model(onnx_light_models: list[Path]) -> Path:
    """A model that takes IREE some seconds."""
    return next(path for path in onnx_light_models if path.stem == "light_inception_v2")


@pytest.mark.parametrize("how", ["terminal", "SIGTERM"])
@pytest.mark.parametrize("tool", ["serenity", "serenity-opt", "serenity-iree-compile"])
def test_interrupt_while_writing(tool: str, how: str, place: Place) -> None:
    place.seed(RENAMING, "(Path(os.environ['SERENITY_SCRATCH']) / 'writing').touch(); time.sleep(600)")
    (place.out / "x").write_text("old")
    model = ("compile", "m.onnx", "--emit", "mlir") if tool == "serenity" else ("m.mlir",)
    more = IREE_FLAGS if tool == "serenity-iree-compile" else ()
    started = start(place, tool, *model, "-o", place.out / "x", *more)
    started.wait_for(lambda: bool(list(place.tmp.glob("serenity-*/writing"))))
    assert len(list(place.out.iterdir())) == 2
    started.end(how)
    assert_interrupted(started)
    assert [path.name for path in place.out.iterdir()] == ["x"]
    assert (place.out / "x").read_text() == "old"
    assert not list(place.tmp.iterdir())


def test_each_process_makes_the_same_file(place: Place) -> None:
    for name in ("first", "second", "third"):
        assert place.run("serenity", "compile", "m.onnx", "-o", place.out / name).returncode == 0
    assert len({path.read_bytes() for path in place.out.iterdir()}) == 1


def test_interrupts_at_any_time_leave_nothing(place: Place) -> None:
    """Twice, as impatient people do it; a file that is there by then is whole."""
    assert place.run("serenity", "compile", "m.onnx", "-o", "whole.vmfb").returncode == 0
    for delay in (0.3, 0.6, 0.9, 1.2):
        started = start(place, "serenity", "compile", "m.onnx", "-o", place.out / "x.vmfb")
        started.wait_for(lambda: bool(list(place.tmp.iterdir())))
        time.sleep(delay)
        started.end("terminal")
        started.end("terminal")
        stdout, stderr = started.process.communicate(timeout=PATIENCE)
        done = started.process.returncode
        assert done in (0, 130), stderr
        assert stdout == ""
        assert not started.others()
        assert not list(place.tmp.iterdir())
        made = list(place.out.iterdir())
        assert made or done == 130
        for path in made:
            assert path.read_bytes() == (place.inputs / "whole.vmfb").read_bytes()
            path.unlink()


@pytest.mark.parametrize("tool", ["serenity", "serenity-opt", "serenity-iree-compile"])
def test_reader_that_has_seen_enough(tool: str, place: Place) -> None:
    arguments = {
        "serenity": ["compile", "m.onnx", "--emit", "mlir", "-o", "-"],
        "serenity-opt": ["m.mlir"],
        "serenity-iree-compile": [
            *("m.mlir", "--compile-to=stream", *IREE_FLAGS),
        ],
    }
    started = start(place, tool, *arguments[tool])
    assert started.process.stdout is not None
    started.process.stdout.close()
    _, stderr = started.process.communicate(timeout=PATIENCE)
    assert started.process.returncode == 1
    assert stderr == ""
    place.assert_nothing_left()


@pytest.mark.parametrize("out", ["absent/x", "."])
def test_a_bad_place_is_refused_before_time_is_spent(out: str, place: Place) -> None:
    place.seed(READING, "os.abort()")
    done = place.run("serenity", "compile", "m.onnx", "-o", out)
    assert done.returncode == 1
    assert f"error: {out}: cannot be written: " in done.stderr
    place.assert_nothing_left()
