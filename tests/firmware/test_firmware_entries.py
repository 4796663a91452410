"""Several exported functions on one arena and one table of weights, and the profile hook."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from firmware_harness import HERE, SANITIZERS, STRICT, call, compile_firmware, serenity, target_named

_X = "tensor<64x4xf32>"
_BROADCAST = """linalg.generic {{
      indexing_maps = [{maps}, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}}
      ins({values} : {types}) outs(%e : tensor<64x4xf32>) {{"""
_ROW, _ALL = "affine_map<(d0, d1) -> (d1)>", "affine_map<(d0, d1) -> (d0, d1)>"


def program(first: str, second: str) -> str:
    add = _BROADCAST.format(maps=f"{_ALL}, {_ROW}", values="%x, %w", types=f"{_X}, tensor<4xf32>")
    scale = _BROADCAST.format(
        maps=f"{_ALL}, {_ALL}, {_ROW}", values="%x, %y, %w", types=f"{_X}, {_X}, tensor<4xf32>"
    )
    weights = """util.global.load @weights : tensor<4xf32>"""
    return f"""
    util.global private @weights = dense<[0.5, -1.5, 2.5, 3.5]> : tensor<4xf32>
    func.func @{first}(%x: {_X}) -> {_X} {{
      %w = {weights}
      %e = tensor.empty() : {_X}
      %a = {add}
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      }} -> {_X}
      return %a : {_X}
    }}
    func.func @{second}(%x: {_X}, %y: {_X}) -> {_X} {{
      %w = {weights}
      %e = tensor.empty() : {_X}
      %a = {scale}
      ^bb0(%p: f32, %q: f32, %r: f32, %o: f32):
        %s = arith.mulf %p, %q : f32
        %t = arith.mulf %s, %r : f32
        linalg.yield %t : f32
      }} -> {_X}
      return %a : {_X}
    }}"""


def test_entries_share_arena_and_weights(tmp_path: Path) -> None:
    target_named("host")
    model = tmp_path / "m.mlir"
    model.write_text(program("add", '"scale-up"'))
    library = compile_firmware(model, "host", tmp_path / "lib")
    said = json.loads((library / "metadata.json").read_text())
    assert [item["prefix"] for item in said["entries"]] == ["net_add", "net_scale_up"]
    # Two inputs and an output of 1,024 bytes at most, and the output may lie over an input.
    assert 2048 <= said["memory"]["arena"] <= 3072
    assert said["memory"]["weights"] < 2 * 64
    binary = tmp_path / "program"
    flags = [*STRICT, *SANITIZERS, "-Dnet_PROFILE", "-I", str(library / "include"), "-include", "net.h"]
    parts = [HERE / "entries.c", library / "src" / "net.c", library / "lib" / "net.o"]
    call(["gcc", *flags, *map(str, parts), "-o", str(binary)])
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * 3 * 2
    for begin, end in zip(lines[::2], lines[1::2], strict=True):
        assert begin.removeprefix("begin ") == end.removeprefix("end ")
    names = [line.split()[2].partition("_dispatch")[0] for line in lines[::2]]
    assert names == ["add", "scale_up"] * 3


@pytest.mark.parametrize("names", [('"a-b"', '"a_b"')])
def test_entries_that_c_cannot_tell_apart_are_refused(names: tuple[str, str], tmp_path: Path) -> None:
    model = tmp_path / "m.mlir"
    model.write_text(program(*names))
    done = serenity("compile", model, "--emit", "firmware", "--target", "host", "-o", tmp_path / "lib")
    assert done.returncode == 1
    assert "a-b" in done.stderr
    assert "a_b" in done.stderr
