"""Random programs, with in-place updates and inputs that die, as firmware on the host: results are NumPy's.

Everything lies in one arena, so that whatever lives longer than was planned is written over and shows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from firmware_harness import HERE, Case, assert_agrees, build, run, target_named

from serenity_mlir.pipelines.compile import CompileOptions, compile_model
from serenity_mlir.pipelines.firmware.build import build_firmware
from serenity_mlir.pipelines.firmware.write import write_folder
from serenity_mlir.pipelines.lower_stream import StreamOptions

sys.path.append(str(HERE.parent / "stream"))
from programs import TensorProgram, concat_program, random_program

CASES = [(random_program, seed) for seed in range(3)] + [(concat_program, seed) for seed in range(2)]


@pytest.mark.parametrize("io", ["arena", "external"])
@pytest.mark.parametrize(("make", "seed"), CASES)
def test_random_programs(make: Callable[[int], TensorProgram], seed: int, io: str, tmp_path: Path) -> None:
    target = target_named("host")
    program = make(seed)
    model = tmp_path / "m.mlir"
    model.write_text(program.text)
    options = CompileOptions(target="host", stream=StreamOptions(time_limit=10, io=io))
    made = build_firmware(model, options, "net", compile_model)
    write_folder(tmp_path / "lib", made.files)
    case = Case("net", tmp_path / "lib", list(program.inputs), list(program.expected))
    result = run(build(case, target, tmp_path / "b", external=io == "external"), target)
    assert_agrees(result, case)
    assert result.figures["arena"] <= (made.report.memory.slab or 0)
