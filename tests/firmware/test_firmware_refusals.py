"""What firmware cannot hold is refused by name, and what is wrong with a target or a folder said."""

from __future__ import annotations

import struct
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from firmware_harness import compile_firmware, serenity
from small_networks import PROGRAMS, write_float

from serenity_mlir.errors import EXIT_OVER_BUDGET, EXIT_USAGE, SerenityError, UsageError
from serenity_mlir.pipelines.firmware.build import identifier
from serenity_mlir.pipelines.firmware.check_object import check_object
from serenity_mlir.pipelines.firmware.object_file import ObjectFile, read_object
from serenity_mlir.pipelines.firmware.targets import firmware_target

REFUSED = {
    "state": (
        """util.global private mutable @state = dense<0.0> : tensor<16xf32>
    func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
      %s = util.global.load @state : tensor<16xf32>
      %n = arith.addf %s, %x : tensor<16xf32>
      util.global.store %n, @state : tensor<16xf32>
      return %n : tensor<16xf32>
    }""",
        "state that outlives a call (global 'state')",
    ),
    "control flow": (
        """func.func @main(%x: tensor<16xf32>, %i: tensor<i1>) -> tensor<16xf32> {
      %c = tensor.extract %i[] : tensor<i1>
      %r = scf.if %c -> tensor<16xf32> {
        %n = arith.addf %x, %x : tensor<16xf32>
        scf.yield %n : tensor<16xf32>
      } else {
        %n = arith.mulf %x, %x : tensor<16xf32>
        scf.yield %n : tensor<16xf32>
      }
      return %r : tensor<16xf32>
    }""",
        "control flow",
    ),
    "dynamic sizes": (
        """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %n = arith.addf %x, %x : tensor<?xf32>
      return %n : tensor<?xf32>
    }""",
        "sizes that are known only at run time",
    ),
    "scalar": (
        """func.func @main(%x: tensor<16xf32>, %s: i32) -> tensor<16xf32> {
      %f = arith.sitofp %s : i32 to f32
      %e = tensor.empty() : tensor<16xf32>
      %b = linalg.fill ins(%f : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
      %n = arith.addf %x, %b : tensor<16xf32>
      return %n : tensor<16xf32>
    }""",
        "an argument of type i32",
    ),
    "work at start-up": (
        """func.func @main() -> tensor<16xf32> {
      %e = tensor.empty() : tensor<16xf32>
      %c = arith.constant 2.5 : f32
      %f = linalg.fill ins(%c : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
      %b = util.optimization_barrier %f : tensor<16xf32>
      %s = arith.addf %b, %b : tensor<16xf32>
      return %s : tensor<16xf32>
    }""",
        "work at start-up",
    ),
}


@pytest.mark.parametrize("io", ["arena", "external"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_firmware_cannot_hold(name: str, io: str, tmp_path: Path) -> None:
    text, reason = REFUSED[name]
    model = tmp_path / "m.mlir"
    model.write_text(text)
    out = tmp_path / "lib"
    done = serenity("compile", model, "--emit", "firmware", "--target", "host", "--io", io, "-o", out)
    assert done.returncode == 1, done.stderr
    assert reason in done.stderr
    assert "m.mlir" in done.stderr
    assert "hint:" in done.stderr
    assert not out.exists()


def test_an_output_that_is_an_input_has_no_memory_of_its_own(tmp_path: Path) -> None:
    model = tmp_path / "m.mlir"
    model.write_text(PROGRAMS["input_comes_back"].text)
    out = tmp_path / "lib"
    done = serenity("compile", model, "--emit", "firmware", "--target", "host", "--io", "external", "-o", out)
    assert done.returncode == 1
    assert "output 1 of main" in done.stderr
    assert "--io arena" in done.stderr


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    return compile_firmware(write_float(folder / "m.onnx"), "cortex-m7", folder / "lib")


@pytest.fixture(scope="module")
def found(library: Path) -> ObjectFile:
    return read_object((library / "lib" / "net.o").read_bytes(), file="net.o")


def test_the_object_is_what_the_target_says(found: ObjectFile) -> None:
    check_object(found, firmware_target("cortex-m7"), file="net.o")
    for other, what in (("riscv32-imafc", "RISCV, 32 bits, single"), ("host", "X86_64, 64 bits")):
        with pytest.raises(SerenityError, match=what):
            check_object(found, firmware_target(other), file="net.o")


def test_calls_that_no_library_takes_are_named(found: ObjectFile) -> None:
    object_file = replace(found, needed=("__adddf3", "memcpy"))
    with pytest.raises(SerenityError, match="needs __adddf3, which"):
        check_object(object_file, firmware_target("cortex-m7"), file="net.o")


def test_an_unknown_version_of_the_library_is_refused(library: Path) -> None:
    data = (library / "lib" / "net.o").read_bytes()
    header = struct.pack("<IIII", 6, 0, 0, 0)
    places = [at for at in range(0, len(data) - 16, 4) if data[at : at + 16] == header]
    assert places
    for at in places:
        data = data[:at] + struct.pack("<I", 7) + data[at + 4 :]
    with pytest.raises(SerenityError, match="version 7; version 6 is known"):
        read_object(data, file="net.o")


def test_names_are_identifiers_of_c() -> None:
    assert identifier(None, Path("a b-c.onnx")) == "a_b_c"
    assert identifier(None, Path("3d.onnx")) == "model_3d"
    assert identifier(None, Path("int.onnx")) == "int_"
    assert identifier("net", Path("x.onnx")) == "net"
    for name in ("", "3d", "a-b", "for", "_x", "é"):
        with pytest.raises(UsageError):
            identifier(name, Path("x.onnx"))


def test_targets_are_listed_and_read_from_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no firmware target 'cortex-m8'") as error:
        firmware_target("cortex-m8")
    assert "did you mean 'cortex-m" in str(error.value)
    mine = tmp_path / "mine.toml"
    text = (files("serenity_mlir.pipelines.firmware") / "boards" / "host.toml").read_text("utf-8")
    mine.write_text(text.replace('"host"', '"mine"'))
    assert firmware_target(str(mine)).name == "mine"
    mine.write_text(text.replace("bits = 64", "bytes = 8"))
    with pytest.raises(UsageError, match="bytes"):
        firmware_target(str(mine))
    with pytest.raises(UsageError, match="cannot be read"):
        firmware_target(str(tmp_path / "none.toml"))


def test_folders_are_replaced_only_if_they_are_libraries(library: Path, tmp_path: Path) -> None:
    model = write_float(tmp_path / "m.onnx")
    base = ("compile", model, "--emit", "firmware", "--target", "cortex-m7", "--name", "net", "-o")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("mine")
    done = serenity(*base, foreign)
    assert done.returncode == 1
    assert "holds something else" in done.stderr
    assert [item.name for item in foreign.iterdir()] == ["thesis.tex"]
    ours = tmp_path / "ours"
    assert serenity(*base, ours).returncode == 0
    (ours / "src" / "net.c").write_text("old")
    assert serenity(*base, ours).returncode == 0
    contents = {path.relative_to(ours): path.read_bytes() for path in ours.rglob("*") if path.is_file()}
    assert contents == {
        path.relative_to(library): path.read_bytes() for path in library.rglob("*") if path.is_file()
    }
    assert sorted(item.name for item in tmp_path.iterdir()) == ["foreign", "m.onnx", "ours"]


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    model = write_float(tmp_path / "m.onnx")
    out = tmp_path / "out"
    firmware = ("--emit", "firmware", "--target", "host")
    for more in (
        (*firmware, "--verify"),
        (*firmware, "--no-arena"),
        (*firmware, "--name", "3"),
        ("--name", "n"),
    ):
        done = serenity("compile", model, *more, "-o", out)
        assert done.returncode == EXIT_USAGE, done.stderr
    done = serenity("compile", model, *firmware, "-o", out, "--budget-rom", "100")
    assert done.returncode == EXIT_OVER_BUDGET
    assert "weights and code are" in done.stderr
    assert not out.exists()
