"""Firmware libraries on this machine, under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest
from firmware_harness import (
    HERE,
    Case,
    assert_agrees,
    build,
    compile_firmware,
    reference_case,
    run,
    target_named,
)
from small_networks import PROGRAMS, write_float, write_int8

from serenity_mlir.report import read_report

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux", reason="the host target is x86-64 Linux"
)
IO = ("arena", "external")


@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize("write", [write_float, write_int8])
def test_networks_agree_with_the_reference(write: object, io: str, tmp_path: Path) -> None:
    assert callable(write)
    model = write(tmp_path / "m.onnx")
    report = tmp_path / "report.json"
    library = compile_firmware(model, "host", tmp_path / "lib", "--io", io, "--report", str(report))
    case = reference_case(model, library, "net")
    result = run(
        build(case, target_named("host"), tmp_path / "b", external=io == "external"), target_named("host")
    )
    assert_agrees(result, case)
    arena = read_report(report).memory.final.arena
    assert arena is not None
    assert arena - 64 < result.figures["arena"] <= arena


@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_what_they_say(name: str, io: str, tmp_path: Path) -> None:
    if io == "external" and name == "input_comes_back":
        pytest.skip("refused, which another test checks")
    program = PROGRAMS[name]
    model = tmp_path / "m.mlir"
    model.write_text(program.text)
    library = compile_firmware(model, "host", tmp_path / "lib", "--io", io)
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in program.shapes]
    case = Case("net", library, list(inputs), program.compute(*inputs))
    binary = build(case, target_named("host"), tmp_path / "b", external=io == "external")
    assert_agrees(run(binary, target_named("host")), case)


def test_two_instances_at_once(tmp_path: Path) -> None:
    """Threads, each with an arena of its own, a thousand calls each, all with equal results."""
    model = write_int8(tmp_path / "m.onnx")
    library = compile_firmware(model, "host", tmp_path / "lib")
    case = reference_case(model, library, "net")
    binary = build(case, target_named("host"), tmp_path / "b", driver=HERE / "instances.c")
    result = run(binary, target_named("host"))
    assert_agrees(result, case)
