"""Quantised networks whose integers are moved and stored compute what they did, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quantised_graphs import networks

from serenity_mlir.dialect_passes.linalg import narrowing
from serenity_mlir.dialect_passes.linalg.narrowing import NARROWING, narrow
from serenity_mlir.dialect_passes.linalg.quantization import Scheme
from serenity_mlir.dialect_passes.linalg.rewrite import Site, keyed
from serenity_mlir.pipelines.compile import declare_unsigned
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.reference import run_reference
from serenity_mlir.pipelines.targets import compiler_flags
from serenity_mlir.pipelines.verify import random_inputs, run_compiled

Arrays = list[npt.NDArray[Any]]


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(compiler_flags("generic", ()))


def at_input(source: SourceModel, session: Session) -> Program:
    program = session.program(import_onnx(source, session.context))
    declare_unsigned(program, source, "end")
    if program.phase != "input":
        program.to_phase("input")
    return program


def results(program: Program, source: SourceModel) -> Arrays:
    program.to_phase("end")
    return run_compiled(program.vm_bytecode(), source.outputs, list(random_inputs(source.inputs).values()))


def assert_same(found: Arrays, expected: Arrays) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def saved(model: onnx.ModelProto, folder: Path) -> SourceModel:
    path = folder / "net.onnx"
    onnx.save(model, path)
    return load_model(path)


@settings(max_examples=4)
@given(model=networks(convolutions=True))
def test_compiled_results_are_the_same(
    model: onnx.ModelProto, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = saved(model, tmp_path_factory.mktemp("net"))
    narrowed = at_input(source, session)
    narrow(narrowed.module)
    assert narrowed.module.verify()
    assert_same(results(narrowed, source), results(at_input(source, session), source))


@settings(max_examples=6)
@given(model=networks(convolutions=False))
def test_results_are_those_of_the_reference(
    model: onnx.ModelProto, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = saved(model, tmp_path_factory.mktemp("net"))
    narrowed = at_input(source, session)
    narrow(narrowed.module)
    assert_same(results(narrowed, source), run_reference(source, random_inputs(source.inputs)))


@settings(max_examples=6)
@given(model=networks(convolutions=True))
def test_function_by_function_is_the_same_and_applying_ends(
    model: onnx.ModelProto, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = at_input(saved(model, tmp_path_factory.mktemp("net")), session)
    clone = program.module.clone()
    (whole,) = [item for item in narrowing.find(program.module) if isinstance(item, Site)]
    whole.apply()
    narrow(clone)
    assert str(clone) == str(program.module)
    left = [item for find in NARROWING for _, item in keyed(find(program.module)) if isinstance(item, Site)]
    assert not left
    assert not [item for item in narrowing.find(program.module) if isinstance(item, Site)]


@given(
    scale=st.floats(2.0**-40, 2.0**40, width=32),
    zero=st.integers(-128, 255),
    unsigned=st.booleans(),
    value=st.floats(width=32, allow_nan=False, allow_infinity=False),
)
def test_scheme_is_the_arithmetic_of_its_definition(
    scale: float, zero: int, unsigned: bool, value: float
) -> None:
    low, high = (0, 255) if unsigned else (-128, 127)
    scheme = Scheme(scale, min(max(zero, low), high), low, high, 8, unsigned)
    assert scheme.round_trips
    assert scheme.increasing
    levels = list(range(low, high + 1))
    exact = [np.float32(np.float32(level - scheme.zero) * np.float32(scale)) for level in levels]
    assert list(scheme.dequantized(scheme.levels)) == exact
    assert scheme.level_of(float(exact[7])) == levels[7]
    assert scheme.level_of(float(np.nextafter(exact[-1], np.float32(np.inf)))) is None
    quantised = int(scheme.quantized(np.array([value], np.float32))[0])
    assert low <= quantised <= high
    unclamped = np.rint(np.float32(value) / np.float32(scale)) + np.float32(scheme.zero)
    assert quantised == int(min(max(unclamped, low), high))


def test_scales_that_merge_levels_are_not_trusted() -> None:
    tiny = Scheme(float(np.float32(1e-45)) / 1, 0, -128, 127, 8, unsigned=False)
    huge = Scheme(3e38, 0, -128, 127, 8, unsigned=False)
    assert tiny.increasing  # the least subnormal still counts
    assert not huge.increasing
    assert not huge.round_trips
    assert huge.level_of(-0.0) is None


def test_swiftnet_stays_exact(shared: Path, session: Session) -> None:
    source = load_model(shared / "models" / "tfl_swiftnet_vwwc224_uint8.onnx")
    program = at_input(source, session)
    taken = narrow(program.module)
    assert len([key for key in taken if key.startswith("centre-weights")]) == 60
    assert len([key for key in taken if key.startswith("narrow-max-pool")]) == 3
    assert_same(results(program, source), run_reference(source, random_inputs(source.inputs)))
