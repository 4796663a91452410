"""The same model gives the same bytes, in another process, folder and time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from firmware_harness import compile_firmware
from small_networks import write_float, write_int8

FINISHED = ("--time-limit", "60", "--rewrite-limit", "600")
"""Searches end by themselves, seconds in."""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("target", ["cortex-m7", "riscv32-imac", "host"])
def test_same_bytes(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = write_float if target == "host" else write_int8
    found = []
    for number, seed in enumerate("17"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        monkeypatch.setenv("TMPDIR", str(tmp_path / seed))
        folder = tmp_path / seed
        folder.mkdir()
        model = write(folder / "m.onnx")
        os.utime(model, (number, number))
        found.append(contents(compile_firmware(model, target, folder / "lib", *FINISHED)))
    assert found[0].keys() == found[1].keys()
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []
