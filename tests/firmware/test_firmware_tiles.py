"""Dispatches tiled for registers: right results, and less code that runs fewer instructions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from corpus import NO_SHARED, SHARED
from firmware_harness import assert_agrees, build, compile_firmware, reference_case, run, target_named
from small_networks import Layer, write_chain

from serenity_mlir.pipelines.firmware.targets import firmware_target

BOARDS = Path(__file__).parents[2] / "pipelines" / "firmware" / "boards"
AS_IT_IS = ("--no-rewrite", "--no-regions")
MEMORY = ("--objective", "memory", "--time-limit", "60", "--rewrite-limit", "60")
CHAINS = {
    "channels": (3, 12, (Layer(8, 3), Layer(8, 3), Layer(8, 1))),
    "strides": (4, 13, (Layer(16, 3, stride=2), Layer(10, 1, stride=2))),
    "depthwise": (6, 10, (Layer(6, 3, depthwise=True), Layer(12, 1), Layer(12, 5, stride=2, depthwise=True))),
    "odd": (1, 7, (Layer(5, 5), Layer(7, 3), Layer(3, 3))),
    "prime": (2, 11, (Layer(11, 3), Layer(13, 1), Layer(11, 3))),
}


def board(name: str, folder: Path, *, tiled: bool) -> str:
    """A target's file, with tiles for registers or without."""
    own = (BOARDS / f"{name}.toml").read_text("utf-8")
    text = re.sub(r"^register_tiles = true\n", "", own, flags=re.MULTILINE)
    path = folder / f"{name}-{tiled}.toml"
    path.write_text(f"register_tiles = {str(tiled).lower()}\n{text}", "utf-8")
    return str(path)


def chain(name: str, folder: Path, *, quantised: bool) -> Path:
    given, width, layers = CHAINS[name]
    return write_chain(folder / "m.onnx", layers, given=given, width=width, quantised=quantised)


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("name", CHAINS)
def test_results_under_sanitizers(name: str, quantised: bool, tmp_path: Path) -> None:
    """Padding is read on the way (`--objective memory`), by guards that channels share or do not."""
    target_named("host")
    model, file = chain(name, tmp_path, quantised=quantised), board("host", tmp_path, tiled=True)
    library = compile_firmware(model, file, tmp_path / "lib", *MEMORY, "--rewrite-limit", "4")
    case, target = reference_case(model, library, "net"), firmware_target(file)
    assert_agrees(run(build(case, target, tmp_path / "b"), target), case)


@pytest.mark.parametrize(
    ("name_of_board", "name", "quantised"),
    [
        ("cortex-m7", "channels", True),
        ("cortex-m7", "depthwise", True),
        ("cortex-m7", "channels", False),
        ("cortex-m7", "odd", False),
        ("riscv32-imafc", "odd", True),
        ("riscv32-imafc", "channels", False),
    ],
)
def test_there_is_less_to_run(name_of_board: str, name: str, quantised: bool, tmp_path: Path) -> None:
    target_named(name_of_board)
    model = chain(name, tmp_path, quantised=quantised)
    code, instructions = {}, {}
    for tiled in (False, True):
        file = board(name_of_board, tmp_path, tiled=tiled)
        library = compile_firmware(model, file, tmp_path / f"{tiled}", *AS_IT_IS)
        case, target = reference_case(model, library, "net"), firmware_target(file)
        result = run(build(case, target, tmp_path / f"b{tiled}"), target, counting=True)
        assert_agrees(result, case)
        code[tiled] = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]["linked"]["object"]
        instructions[tiled] = result.figures["instructions"]
    assert instructions[True] < instructions[False]
    if quantised and name != "odd":  # whose rows of seven are computed at once
        assert code[True] < code[False]


@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
def test_int8_guards_of_a_real_network(tmp_path: Path) -> None:
    """ResNet-8 takes less than 70 million instructions; 173 with a branch at each guard and IREE's tiles."""
    target = target_named("cortex-m7")
    model, report = SHARED / "models" / "tfl_ic_resnet_int8.onnx", tmp_path / "report.json"
    library = compile_firmware(model, "cortex-m7", tmp_path / "lib", *MEMORY, "--report", str(report))
    assert "pad-on-read" in report.read_text("utf-8")
    case = reference_case(model, library, "net")
    result = run(build(case, target, tmp_path / "b"), target, counting=True)
    assert_agrees(result, case)
    assert result.figures["instructions"] < 100_000_000
