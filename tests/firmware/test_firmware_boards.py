"""Firmware libraries on emulated boards: right results, the arena that was planned, nothing outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpus import NO_SHARED, SHARED
from firmware_harness import (
    assert_agrees,
    assert_arena_is_used,
    build,
    compile_firmware,
    reference_case,
    run,
    target_named,
)
from small_networks import MODELS, write_float, write_int8

BOARDS = ("cortex-m4f", "cortex-m7", "cortex-m55", "cortex-m55-mve", "riscv32-imafc")
SMALL = {"float": write_float, "int8": write_int8}
# Of the driver, and of the timer's interrupt, which saves the FPU's registers too.
_DRIVER_STACK = 64 + 112
# Searches past a proof change nothing here; rewrites have tests of their own.
QUICK = (
    "--no-rewrite",
    "--no-regions",
)


def check(model: Path, target_name: str, folder: Path, *options: str) -> int:
    """The arena of a library whose results and figures are right."""
    target = target_named(target_name)
    library = compile_firmware(model, target_name, folder / "lib", *options)
    case = reference_case(model, library, "net")
    result = run(build(case, target, folder / "b"), target)
    assert_agrees(result, case)
    assert_arena_is_used(result, library)
    memory = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]
    header, linked = (library / "include" / "net.h").read_text("ascii"), memory["linked"]
    assert f"net_ARENA_BYTES {memory['arena']}u" in header
    assert memory["rom"] == memory["weights"] + linked["object"] + linked["source"] + linked["libraries"]
    assert memory["ram"] == memory["arena"] + memory["stack"] + memory["workgroup"]
    assert 0 < linked["object"] <= memory["sections"]["text"] + memory["sections"]["rodata"]
    assert linked["compiler"].split()[0] == target.toolchain.compiler
    # Painted: the path that was taken, in a program that was compiled for speed.
    assert 0.7 * memory["stack"] <= result.figures["stack"] <= memory["stack"] + _DRIVER_STACK
    return int(memory["arena"])


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("board", [*BOARDS, "cortex-m33", "riscv32-imac"])
def test_small_networks(board: str, kind: str, tmp_path: Path) -> None:
    check(SMALL[kind](tmp_path / "m.onnx"), board, tmp_path, *QUICK)


@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("board", BOARDS)
def test_real_networks(board: str, name: str, tmp_path: Path) -> None:
    check(SHARED / "models" / f"{name}.onnx", board, tmp_path, *QUICK)


@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
@pytest.mark.parametrize("board", ["cortex-m4f", "cortex-m55", "riscv32-imafc"])
def test_a_real_network_in_stripes(board: str, tmp_path: Path) -> None:
    """As compiled without options; `benchmarks/firmware.py` checks all of them with `--objective memory`."""
    assert check(SHARED / "models" / "tfl_tflm_micro_speech.onnx", board, tmp_path) < 5000  # 20,000 without


@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
def test_code_for_risc_v_is_not_much_larger_than_for_arm(tmp_path: Path) -> None:
    """Without the narrow tiles of those targets it is nineteen times as large."""
    code = {}
    for board in ("cortex-m7", "riscv32-imafc", "riscv32-imac"):
        model = SHARED / "models" / "tfl_kws_int8.onnx"
        library = compile_firmware(model, board, tmp_path / board, *QUICK)
        sections = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]["sections"]
        code[board] = sections["text"] + sections["rodata"]
    assert max(code.values()) <= 1.3 * code["cortex-m7"]
