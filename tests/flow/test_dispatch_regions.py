"""What is formed before IREE forms dispatches computes what the network did, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from quantised_residuals import networks

from serenity_mlir.dialect_passes.flow import recompute_elementwise
from serenity_mlir.dialect_passes.flow.patterns import DISPATCH_PATTERNS, PATTERNS
from serenity_mlir.dialect_passes.linalg.rewrite import Site, apply_sites, keyed
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.lower import lower_to
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.targets import compiler_flags
from serenity_mlir.pipelines.verify import random_inputs, run_compiled

Arrays = list[npt.NDArray[Any]]
AT = "global-optimization"


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(compiler_flags("generic", ()))


def optimized(source: SourceModel, session: Session) -> Program:
    """A model's program where regions are formed."""
    program = session.program(import_onnx(source, session.context))
    program.to_phase(AT)
    return program


def apply_all(program: Program) -> list[str]:
    """Apply every site of every pattern, on the way to the end of `dispatch-creation`; returns their keys."""
    keys = [key for find in PATTERNS for key in apply_sites(program.module, find)]
    assert program.module.verify()
    program.to_phase("dispatch-creation")
    keys += [key for find in DISPATCH_PATTERNS for key in apply_sites(program.module, find)]
    assert program.module.verify()
    return keys


def compiled(program: Program) -> tuple[bytes, int | None]:
    """The `.vmfb`, scheduled and packed, and its slab."""
    found = lower_to(program, "end", StreamOptions(time_limit=10), lambda _stage: None)
    assert found is not None
    return program.vm_bytecode(), found.slab


def results(artefact: bytes, source: SourceModel) -> Arrays:
    return run_compiled(artefact, source.outputs, list(random_inputs(source.inputs).values()))


def assert_same(found: Arrays, expected: Arrays) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def saved(model: onnx.ModelProto, folder: Path) -> SourceModel:
    path = folder / "net.onnx"
    onnx.save(model, path)
    return load_model(path)


@settings(max_examples=6)
@given(model=networks(), data=st.data())
def test_any_choice_computes_the_same(
    model: onnx.ModelProto, data: st.DataObject, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = saved(model, tmp_path_factory.mktemp("net"))
    program = optimized(source, session)
    for find in (*PATTERNS, *DISPATCH_PATTERNS):
        if find in DISPATCH_PATTERNS and program.phase == AT:
            program.to_phase("dispatch-creation")
        keys = [key for key, item in keyed(find(program.module)) if isinstance(item, Site)]
        chosen = data.draw(st.sets(st.sampled_from(keys))) if keys else set()
        assert set(apply_sites(program.module, find, chosen)) == chosen
        assert program.module.verify()
    artefact, _ = compiled(program)
    plain, _ = compiled(optimized(source, session))
    assert_same(results(artefact, source), results(plain, source))


@settings(max_examples=10)
@given(model=networks())
def test_keys_are_those_of_a_clone(
    model: onnx.ModelProto, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = optimized(saved(model, tmp_path_factory.mktemp("net")), session)
    clone = program.fork()
    assert apply_all(clone) == apply_all(program)


@pytest.mark.parametrize(("name", "slab"), [("tfl_kws_int8", 16_000), ("tfl_ic_resnet_int8", 34_880)])
def test_shared_models(name: str, slab: int, shared: Path, session: Session) -> None:
    source = load_model(shared / "models" / f"{name}.onnx")
    program = optimized(source, session)
    apply_all(program)
    artefact, found = compiled(program)
    assert found == slab
    plain, _ = compiled(optimized(source, session))
    assert_same(results(artefact, source), results(plain, source))


def activations(folder: Path) -> SourceModel:
    """A sum of two products of one activation of the input, which a third product reads as it was."""
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        for name, shape in {"a": (4, 16, 1, 1), "b": (4, 16, 3, 3), "c": (4, 16, 1, 1)}.items()
    ]
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        helper.make_node("Conv", ["r", "a"], ["p"], "p"),
        helper.make_node("Conv", ["r", "b"], ["q"], "q", strides=[1, 1], pads=[0, 0, 0, 0]),
        helper.make_node("Conv", ["x", "c"], ["s"], "s"),
        helper.make_node("Add", ["p", "s"], ["y"], "sum"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 16, 16, 16])],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("y", "q")],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return saved(onnx.shape_inference.infer_shapes(model, strict_mode=True), folder)


def test_an_activation_of_the_input_is_not_stored(session: Session, tmp_path: Path) -> None:
    source = activations(tmp_path)
    program = optimized(source, session)
    assert apply_sites(program.module, recompute_elementwise.find) == ["recompute-elementwise at relu"]
    assert program.module.verify()
    (artefact, slab), (plain, before) = compiled(program), compiled(optimized(source, session))
    assert before is not None
    assert slab is not None
    assert before >= 16 * 16 * 16 * 4 > slab
    for one, other in zip(results(artefact, source), results(plain, source), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * np.abs(other).max())
