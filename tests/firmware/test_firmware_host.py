"""Firmware libraries on this machine, under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np
import pytest
from corpus import NO_SHARED, SHARED
from firmware_harness import (
    HERE,
    Case,
    assert_agrees,
    assert_arena_is_used,
    build,
    compile_firmware,
    reference_case,
    run,
    target_named,
)
from small_networks import MODELS, PROGRAMS, write_float, write_int8

from serenity_mlir.pipelines.compile import CompileOptions, compile_model
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.report import read_report

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux", reason="the host target is x86-64 Linux"
)
IO = ("arena", "external")
CUT_SHORT = ("--rewrite-limit", "5")  # what is tested holds for any set of rewrites


@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize("write", [write_float, write_int8])
def test_networks_agree_with_the_reference(write: object, io: str, tmp_path: Path) -> None:
    assert callable(write)
    model = write(tmp_path / "m.onnx")
    report = tmp_path / "report.json"
    library = compile_firmware(
        model, "host", tmp_path / "lib", "--io", io, "--report", str(report), *CUT_SHORT
    )
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
    library = compile_firmware(model, "host", tmp_path / "lib", "--io", io, *CUT_SHORT)
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in program.shapes]
    case = Case("net", library, list(inputs), program.compute(*inputs))
    binary = build(case, target_named("host"), tmp_path / "b", external=io == "external")
    assert_agrees(run(binary, target_named("host")), case)


@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
@pytest.mark.parametrize("name", MODELS)
def test_real_networks(name: str, tmp_path: Path) -> None:
    """Twice in a row, and in two threads with an arena each: no report, equal results, the reference's."""
    target = target_named("host")
    model = SHARED / "models" / f"{name}.onnx"
    library = compile_firmware(model, "host", tmp_path / "lib", "--no-rewrite", "--no-regions")
    case = reference_case(model, library, "net")
    result = run(build(case, target, tmp_path / "b"), target)
    assert_agrees(result, case)
    assert_arena_is_used(result, library)
    binary = build(case, target, tmp_path / "c", driver=HERE / "instances.c", more=["-DCALLS=5"])
    assert_agrees(run(binary, target), case)


def test_two_instances_at_once(tmp_path: Path) -> None:
    """Threads, each with an arena of its own, a thousand calls each, all with equal results."""
    model = write_int8(tmp_path / "m.onnx")
    library = compile_firmware(model, "host", tmp_path / "lib", *CUT_SHORT)
    case = reference_case(model, library, "net")
    binary = build(case, target_named("host"), tmp_path / "b", driver=HERE / "instances.c")
    result = run(binary, target_named("host"))
    assert_agrees(result, case)


@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
def test_stripes_cost_a_call_each(tmp_path: Path) -> None:
    """For IREE's runtime there would be too many: the default objective stays within a tenth of the time."""
    model = SHARED / "models" / "tfl_tflm_micro_speech.onnx"
    library = compile_firmware(model, "host", tmp_path / "lib")
    arena = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]["arena"]
    report = compile_model(model, CompileOptions(emit="mlir", stream=StreamOptions(io="arena"))).report
    assert report is not None
    assert report.memory.slab is not None
    assert arena < 5_968 < report.memory.slab  # between them TensorFlow Lite Micro
    case = reference_case(model, library, "net")
    assert_agrees(run(build(case, target_named("host"), tmp_path / "b"), target_named("host")), case)
