"""`serenity-opt` on input and output that go wrong; what goes right is in lit_tests/opt."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.atomic_file import atomic_write
from serenity_mlir.pipelines.opt import OptMain, main

EMPTY_FUNCTION = "func.func @f() {\n  return\n}\n"
OPT = (sys.executable, "-m", "serenity_mlir.pipelines.opt")


def write(folder: Path, data: str | bytes) -> str:
    path = folder / "in.mlir"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        (b"", 0, ""),
        (b"\xff\xfe\x00", 1, "neither MLIR text nor bytecode: byte 0 is not UTF-8"),
        (b"func.func", 1, "error: "),
        (b"ML\xefR\x00\x01garbage", 1, "error: "),
        (b"\r\nfunc.func @f() {\r\n  return\r\n}\r\n", 0, ""),
        (b'"a.b"() : () -> ()', 1, "unregistered dialect"),
    ],
)
def test_odd_files(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], data: bytes, status: int, message: str
) -> None:
    out = tmp_path / "out.mlir"
    assert main([write(tmp_path, data), "-o", str(out)]) == status
    captured = capfd.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert out.exists() == (status == 0)
    assert "Traceback" not in captured.err


def test_bytecode_is_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    buffer = io.BytesIO()
    ir.Module.parse(EMPTY_FUNCTION, make_context()).operation.write_bytecode(buffer)
    assert main([write(tmp_path, buffer.getvalue()), "--serenity-schedule-tensors"]) == 0
    assert "func.func @f()" in capfd.readouterr().out


def test_a_pass_that_fails_is_reported_like_an_error_of_mlir(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise SerenityError("no", where="@f", hint="go on")

    target = "serenity_mlir.dialect_passes.tensors.schedule_tensors.ScheduleTensorsPass.apply"
    monkeypatch.setattr(target, refuse)
    assert main([write(tmp_path, EMPTY_FUNCTION), "--serenity-schedule-tensors"]) == 1
    captured = capfd.readouterr()
    assert captured.err == "<unknown>:0: error: @f: no\n  hint: go on\n"
    assert captured.out == ""


def test_verify_each_names_the_pass(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(_: object, module: ir.Operation) -> None:
        function = module.regions[0].blocks[0].operations[0].operation
        function.regions[0].blocks[0].operations[0].operation.erase()

    target = "serenity_mlir.dialect_passes.tensors.schedule_tensors.ScheduleTensorsPass.apply"
    monkeypatch.setattr(target, spoil)
    flags = [write(tmp_path, EMPTY_FUNCTION), "--serenity-schedule-tensors"]
    assert main(flags) == 1
    assert "serenity-schedule-tensors left IR that does not verify" in capfd.readouterr().err
    assert main([*flags, "--verify-each=false"]) == 0


@pytest.mark.parametrize("pipe", ["closed", "full"])
def test_output_that_cannot_be_written(tmp_path: Path, pipe: str) -> None:
    source = write(tmp_path, EMPTY_FUNCTION)
    if pipe == "full":
        if not Path("/dev/full").exists():
            pytest.skip("this system has no /dev/full")
        done = subprocess.run([*OPT, source, "-o", "/dev/full"], capture_output=True, text=True, check=False)
        assert "serenity-opt: error: /dev/full: cannot be written: No space left on device" in done.stderr
    else:
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*OPT, source], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
        os.close(writer)
        assert done.stderr == ""
    assert done.returncode == 1


def _write_half(file: BinaryIO) -> None:
    file.write(b"half")
    raise RuntimeError


def test_atomic_write_replaces_what_a_link_names_and_keeps_its_mode(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"before")
    target.chmod(0o640)
    link.symlink_to(target)
    with pytest.raises(RuntimeError), atomic_write(link) as file:
        _write_half(file)
    assert target.read_bytes() == b"before"
    with atomic_write(link) as file:
        file.write(b"after")
    assert target.read_bytes() == b"after"
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [link, target]


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with atomic_write(tmp_path / "new") as file:
        file.write(b"x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_the_driver_can_be_subclassed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Permissive(OptMain):
        prog = "other-opt"

        def make_context(self) -> ir.Context:
            return make_context(allow_unregistered=True)

    assert Permissive([write(tmp_path, '"a.b"() : () -> ()')]).run() == 0
    assert '"a.b"()' in capfd.readouterr().out
