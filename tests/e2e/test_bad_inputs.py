"""Bad input: exit status 1 (or the one that DESIGN gives), one message with the file in it, nothing left."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import Done, command
from onnx import helper
from tiny_models import MLIR, SILENT, model, two_convolutions, with_external_data

from serenity_mlir.sizes import size_text

TARGET = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
GOOD = two_convolutions().SerializeToString()
SMALL_DISK = 16 << 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.onnx").write_bytes(GOOD)
    (tmp_path / "good.mlir").write_text(MLIR)
    return tmp_path


def assert_refused(done: Done, *words: str) -> None:
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("error:") == 1, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


FILES = {
    "empty.onnx": (b"", "the file is empty"),
    "truncated.onnx": (GOOD[: len(GOOD) // 2], "truncated"),
    "text.onnx": (b"this is no model\n", "not an ONNX model"),
    "bytecode.onnx": (b"ML\xefR\x0d\x01", "MLIR bytecode"),
    "no_graph.onnx": (b"\x08\x0a", "no ONNX graph"),
    "empty.mlir": (b"", "the file is empty"),
    "blank.mlir": (b" \n\n", "nothing but white space"),
    "binary.mlir": (b"\x00\x01\x02", "neither MLIR text nor MLIR bytecode"),
    "text.mlir": (b"this is no model\n", "line 1, column 1"),
    "silent.mlir": (SILENT.encode(), "module"),
    "torn.mlirbc": (b"ML\xefR\x0d\x01", "malformed"),
    "text.mlirbc": (MLIR.encode(), "not MLIR bytecode"),
    "model.tflite": (b"TFL3", ".onnx"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_hold_no_model(name: str, tmp_path: Path) -> None:
    data, words = FILES[name]
    (tmp_path / name).write_bytes(data)
    assert_refused(command("serenity", "compile", name, "-o", "out", cwd=tmp_path), name, words)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["empty.onnx", "truncated.onnx", "text.mlir"])
def test_analyze_refuses_them_too(name: str, tmp_path: Path) -> None:
    data, words = FILES[name]
    (tmp_path / name).write_bytes(data)
    assert_refused(command("serenity", "analyze", name, "--json", "out", cwd=tmp_path), name, words)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["binary.mlir", "text.mlir", "silent.mlir", "torn.mlirbc", "absent.mlir"])
@pytest.mark.parametrize("tool", ["serenity-opt", "serenity-iree-compile"])
def test_tools_refuse_files_that_hold_no_mlir(tool: str, name: str, tmp_path: Path) -> None:
    if name in FILES:
        (tmp_path / name).write_bytes(FILES[name][0])
    flags = TARGET if tool == "serenity-iree-compile" else ()
    before = list(tmp_path.iterdir())
    done = command(tool, name, "-o", "out", *flags, cwd=tmp_path)
    assert done.returncode == 1
    assert name in done.stderr
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == before


def test_model_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Permissions do not bind root, so a file of which nobody can read the beginning stands in."""
    (tmp_path / "folder.onnx").mkdir()
    (tmp_path / "unreadable.onnx").symlink_to("/proc/self/mem")
    (tmp_path / "loop.onnx").symlink_to("loop.onnx")
    for name, words in (
        ("folder.onnx", "is a directory"),
        ("unreadable.onnx", "cannot be read"),
        ("loop.onnx", "cannot be read"),
        ("absent.onnx", "no such file"),
    ):
        assert_refused(command("serenity", "compile", name, "-o", "out", cwd=tmp_path), name, words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("absent.bin", "'absent.bin' is missing"),
        ("../secret.bin", "points outside the model's folder"),
        ("/etc/passwd", "points outside the model's folder"),
        ("link.bin", "points outside the model's folder"),
        ("short.bin", "is too short"),
        ("", "is missing"),
    ],
)
def test_external_data(location: str, words: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(4096))
    (inside / "link.bin").symlink_to("../secret.bin")
    (inside / "short.bin").write_bytes(b"1234")
    with_external_data(inside / "m.onnx", location)
    done = command("serenity", "compile", inside / "m.onnx", "-o", inside / "out", cwd=tmp_path)
    assert_refused(done, "m.onnx: initializer 'w1'", words)
    assert not (inside / "out").exists()


REFUSED = {
    "unknown op": (model([helper.make_node("Frobnicate", ["x"], ["y"], name="n")]), "'Frobnicate'"),
    "unknown domain": (
        model([helper.make_node("Gelu", ["x"], ["y"], name="n", domain="com.example")]),
        "'com.example'",
    ),
    "unknown rank": (
        model([helper.make_node("Reshape", ["x", "s"], ["y"], name="n")], shape_input=True),
        "number of dimensions",
    ),
    "open size": (
        model(
            [helper.make_node("MaxPool", ["x"], ["y"], name="n", kernel_shape=[2, 2], ceil_mode=1)],
            (1, 3, "h", "w"),
        ),
        "known height and width",
    ),
    "sizes that do not fit": (
        model([helper.make_node("MatMul", ["x", "x"], ["y"], name="n")], (3, 4)),
        "ncompatible dimensions",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_graphs_that_cannot_be_compiled(name: str, tmp_path: Path) -> None:
    proto, words = REFUSED[name]
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    assert_refused(
        command("serenity", "compile", "m.onnx", "-o", "out", cwd=tmp_path), "m.onnx", words, "hint:"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


TOOLS: dict[str, Callable[[str], list[str]]] = {
    "serenity compile": lambda out: [*("serenity", "compile", "good.onnx", "-o", out, "--report", "r.json")],
    "serenity compile, report": lambda out: [
        *("serenity", "compile", "good.onnx", "-o", "out.vmfb", "--report", out)
    ],
    "serenity analyze": lambda out: ["serenity", "analyze", "good.onnx", "--json", out],
    "serenity-opt": lambda out: ["serenity-opt", "good.mlir", "-o", out],
    "serenity-iree-compile": lambda out: [
        *("serenity-iree-compile", "good.mlir", "--compile-to=stream", *TARGET, "-o", out)
    ],
}


@pytest.mark.parametrize("out", ["absent/out", "folder", "/dev/full"])
@pytest.mark.parametrize("tool", TOOLS)
def test_places_that_cannot_be_written(tool: str, out: str, folder: Path) -> None:
    (folder / "folder").mkdir()
    before = sorted(folder.rglob("*"))
    assert_refused(command(*TOOLS[tool](out), cwd=folder), out)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("tool", ["serenity compile", "serenity-opt", "serenity-iree-compile"])
def test_full_standard_output(tool: str, folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = command(*TOOLS[tool]("-"), cwd=folder, stdout=full)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system on which nothing of size fits."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small tmpfs cannot be mounted: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("tool", ["serenity compile", "serenity compile, report", "serenity-iree-compile"])
def test_full_disk(tool: str, folder: Path, small_disk: Path) -> None:
    old = small_disk / "out"
    old.write_text("old")
    (small_disk / "ballast").write_bytes(bytes(SMALL_DISK - (4 << 10)))
    assert_refused(command(*TOOLS[tool]("disk/out"), cwd=folder), "disk/out", "No space left")
    assert sorted(path.name for path in small_disk.iterdir()) == ["ballast", "out"]
    assert old.read_text() == "old"
    assert not (folder / "out.vmfb").exists()


@pytest.mark.parametrize("tool", ["serenity compile", "serenity-opt"])
def test_full_disk_for_temporary_files(tool: str, folder: Path, small_disk: Path) -> None:
    """Either they are not needed, or the message says what could not be written."""
    (small_disk / "ballast").write_bytes(bytes(SMALL_DISK - (4 << 10)))
    environment = {**os.environ, "TMPDIR": str(small_disk)}
    done = command(*TOOLS[tool]("out"), cwd=folder, env=environment)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert (folder / "out").exists() == (done.returncode == 0)
    assert (done.returncode == 0) or "error: " in done.stderr


def _no_large_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def test_file_size_limit(folder: Path) -> None:
    """A write that breaks off in the middle, on any machine."""
    (folder / "out.mlir").write_text("old")
    arguments = ("compile", "good.onnx", "--emit", "mlir", "-o", "out.mlir")
    done = command("serenity", *arguments, cwd=folder, preexec_fn=_no_large_files)
    assert_refused(done, "out.mlir", "File too large")
    assert (folder / "out.mlir").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["good.mlir", "good.onnx", "out.mlir"]


def test_an_old_file_stays_where_compilation_fails(folder: Path) -> None:
    (folder / "out").write_text("old")
    (folder / "bad.onnx").write_bytes(GOOD[:100])
    assert command("serenity", "compile", "bad.onnx", "-o", "out", cwd=folder).returncode == 1
    assert command("serenity-opt", "bad.onnx", "-o", "out", cwd=folder).returncode == 1
    assert (folder / "out").read_text() == "old"


def test_outputs_of_all_kinds(folder: Path) -> None:
    """Names with spaces and letters of any script, bytecode, standard output."""
    odd = folder / "sp ace é" / "mödel [x].onnx"
    odd.parent.mkdir()
    odd.write_bytes(GOOD)
    arguments = ("compile", odd, "--emit", "mlir", "--phase", "input", "-o")
    for name in ("außen [b].mlir", "b.mlirbc"):
        done = command("serenity", *arguments, odd.parent / name, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert "Conv" not in (text := (odd.parent / "außen [b].mlir").read_text())
    assert "linalg.conv" in text
    assert (odd.parent / "b.mlirbc").read_bytes().startswith(b"ML\xefR")
    done = command("serenity", *arguments, "-", cwd=folder)
    assert (done.returncode, done.stdout) == (0, text)


def test_names_that_look_like_markup(folder: Path) -> None:
    (folder / "[red]a[").mkdir()
    (folder / "[red]a[" / "[red]x[bold].onnx").write_bytes(GOOD)
    done = command("serenity", "analyze", "[red]a[/[red]x[bold].onnx", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("[red]x[bold].onnx  (generic)")


def test_names_that_are_no_text(folder: Path) -> None:
    name = os.fsdecode(b"m\xff.onnx")
    try:
        (folder / name).write_bytes(GOOD)
    except OSError:
        pytest.skip("this file system takes names that are UTF-8 only")
    done = command("serenity", "analyze", name, "--json", "r.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "r.json").read_text())["model"]["path"] == r"m\xff.onnx"


def test_too_small_budgets(folder: Path) -> None:
    limit = ("--rewrite-limit", "600")  # the choice ends by itself: the last run comes to what the first did
    arguments = ("serenity", "compile", "good.onnx", "-o", "out", "--report", "r.json", *limit)
    done = command(*arguments, "--budget-ram", "100", cwd=folder)
    assert done.returncode == 3
    assert done.stdout == ""
    assert not (folder / "out").exists()
    message = done.stderr[done.stderr.index("error: ") :]
    report = json.loads((folder / "r.json").read_text())
    assert f"RAM is {report['memory']['ram']:,} bytes" in message
    assert report["peak"]["op"] in message
    assert len(report["peak"]["buffers"]) > 1
    for op, size in report["peak"]["buffers"]:
        assert f"{size_text(size)}  {op}" in message
    assert "hint:" in message
    done = command(*arguments, "--budget-rom", "100", cwd=folder)
    assert done.returncode == 3
    assert "weights are" in done.stderr
    assert command(*arguments, "--budget-ram", str(report["memory"]["ram"]), cwd=folder).returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["compile", "good.onnx"],
        ["compile", "good.onnx", "-o", "out", "--emit", "mlir", "--phase", "flux"],
        ["compile", "good.onnx", "-o", "out", "--report", "out"],
        ["compile", "good.onnx", "-o", "out", "--target", "abacus"],
        ["compile", "good.onnx", "-o", "out", "--", "--iree-opt-level=O9"],
    ],
    ids=" ".join,
)
def test_usage(arguments: list[str], folder: Path) -> None:
    done = command("serenity", *arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out").exists()


def test_debug_shows_the_traceback_and_changes_no_status(folder: Path) -> None:
    done = command("serenity", "compile", "absent.onnx", "-o", "out", "--debug", cwd=folder)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "error: absent.onnx: there is no such file" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["good.onnx", "--target", "aarch64"], "the compiled module does not run here"),
        (["outside.onnx"], "onnxruntime cannot run this model"),
    ],
)
def test_verification_that_cannot_be(arguments: list[str], words: str, folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    nodes = [
        helper.make_node("Constant", [], ["i"], value_int=99),
        helper.make_node("Gather", ["x", "i"], ["y"], name="n", axis=1),
    ]
    (folder / "outside.onnx").write_bytes(model(nodes).SerializeToString())
    done = command("serenity", "compile", *arguments, "--verify", "-o", "out", cwd=folder)
    assert_refused(done, words, "hint:")
    assert not (folder / "out").exists()
