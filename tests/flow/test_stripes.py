"""What is computed in stripes is what was computed at once, to the bit, in less memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from quantised_residuals import networks
from test_dispatch_regions import assert_same, compiled, optimized, results, saved

from serenity_mlir.dialect_passes.flow import pad_on_read
from serenity_mlir.dialect_passes.flow.compute_in_stripes import find
from serenity_mlir.dialect_passes.flow.patterns import PATTERNS
from serenity_mlir.dialect_passes.linalg.rewrite import apply_sites, keyed
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.iree_api import Session
from serenity_mlir.pipelines.targets import compiler_flags


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(compiler_flags("generic", ()))


@settings(max_examples=8)
@given(model=networks(), data=st.data())
def test_any_choice_computes_the_same(
    model: onnx.ModelProto, data: st.DataObject, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = saved(model, tmp_path_factory.mktemp("net"))
    program = optimized(source, session)
    search = partial(find, stripes=data.draw(st.sampled_from([2, 3, 8])))
    keys = [key for key, _ in keyed(search(program.module))]
    chosen = data.draw(st.sets(st.sampled_from(keys))) if keys else set()
    assert set(apply_sites(program.module, search, chosen)) == chosen
    for pattern in data.draw(st.sampled_from([(), PATTERNS])):
        apply_sites(program.module, pattern)
    assert program.module.verify()
    artefact, _ = compiled(program)
    plain, _ = compiled(optimized(source, session))
    assert_same(results(artefact, source), results(plain, source))


def network(
    folder: Path,
    nodes: list[onnx.NodeProto],
    given: list[int],
    output: str,
    weights: Mapping[str, tuple[int, ...]],
) -> SourceModel:
    """Of an input `x` of a shape, with random weights."""
    random = np.random.default_rng(0)
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, given)],
        [helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
            for name, shape in weights.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return saved(onnx.shape_inference.infer_shapes(model, strict_mode=True), folder)


def chain(folder: Path, group: int) -> SourceModel:
    """Two convolutions of 16 channels, 3x3 with padding, after one product of each position."""
    weights = {"a": (16, 2, 1, 1), "b": (16, 16 // group, 3, 3), "c": (16, 16 // group, 3, 3)}
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["p"], "p"),
        helper.make_node("Conv", ["p", "b"], ["q"], "q", group=group, pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["q", "c"], ["y"], "y", group=group, pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["y"], ["z"], "z"),
    ]
    return network(folder, nodes, [1, 2, 16, 16], "z", weights)


_CHANNEL, _PADDED = 16 * 16 * 4, 18 * 18 * 4


@pytest.mark.parametrize(
    ("group", "stripe"),
    [
        pytest.param(16, _PADDED + 64, id="channels of a depthwise convolution"),
        pytest.param(1, 16 * (2 + 2) * 18 * 4 + 32, id="rows behind those that a later row reads"),
    ],
)
def test_results_overwrite_their_operand(group: int, stripe: int, session: Session, tmp_path: Path) -> None:
    source = chain(tmp_path, group)
    program, search = optimized(source, session), partial(find, stripes=8)
    chosen = {"stripe at q", "stripe at y"}
    assert set(apply_sites(program.module, search, chosen)) == chosen
    artefact, slab = compiled(program)
    plain, before = compiled(optimized(source, session))
    assert slab is not None
    assert before is not None
    assert before >= 16 * (_CHANNEL + _PADDED)
    assert slab <= 16 * _CHANNEL + 2 * stripe
    np.testing.assert_allclose(results(artefact, source)[0], results(plain, source)[0], rtol=1e-5, atol=1e-5)


def far_padded(folder: Path) -> SourceModel:
    """Two products of each position, with more padding around the second one's than a stripe is high."""
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["p"], "p"),
        helper.make_node("Conv", ["p", "b"], ["q"], "q", pads=[0, 0, 8, 8]),
        helper.make_node("Relu", ["q"], ["y"], "y"),
    ]
    return network(folder, nodes, [1, 4, 8, 8], "y", {"a": (4, 4, 1, 1), "b": (4, 4, 1, 1)})


def test_a_bias_of_what_feeds_a_cascade_is_spread_where_it_is_read(session: Session, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "a", "bias"], ["p"], "p", group=2),
        helper.make_node("MaxPool", ["p"], ["y"], "y", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    source = network(tmp_path, nodes, [2, 4, 8, 8], "y", {"a": (4, 2, 1, 1), "bias": (4,)})
    program = optimized(source, session)
    assert apply_sites(program.module, partial(find, stripes=2), {"cascade at y"})
    at_flow = program.fork()
    at_flow.to_phase("flow")
    assert "util.initializer" not in at_flow.text()
    artefact, _ = compiled(program)
    plain, _ = compiled(optimized(source, session))
    np.testing.assert_allclose(results(artefact, source)[0], results(plain, source)[0], rtol=1e-5, atol=1e-5)


def test_no_stripe_is_all_padding(session: Session, tmp_path: Path) -> None:
    program = optimized(far_padded(tmp_path), session)
    assert apply_sites(program.module, partial(find, stripes=8)) == []


def test_inner_stripes_that_are_not_padded_are_not_copied_as_a_whole(
    session: Session, tmp_path: Path
) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["p"], "p"),
        helper.make_node("Conv", ["p", "b"], ["q"], "q", pads=[1, 1]),
        helper.make_node("Conv", ["q", "a"], ["y"], "y"),
    ]
    source = network(tmp_path, nodes, [1, 8, 64], "y", {"a": (8, 8, 1), "b": (8, 8, 3)})
    program = optimized(source, session)
    assert apply_sites(program.module, partial(find, stripes=4), {"stripe at q"})
    artefact, slab = compiled(program)
    plain, _ = compiled(optimized(source, session))
    np.testing.assert_allclose(results(artefact, source)[0], results(plain, source)[0], rtol=1e-5, atol=1e-5)
    assert slab is not None
    whole, padded = 8 * 64 * 4, 8 * (16 + 2) * 4
    assert slab <= 2 * whole + padded + 64


@pytest.mark.parametrize(("shape", "kernel"), [((1, 4, 8, 8), (3, 1)), ((1, 4, 8), (3,))])
def test_a_bias_is_spread_where_it_is_read(
    shape: tuple[int, ...], kernel: tuple[int, ...], session: Session, tmp_path: Path
) -> None:
    group = len(kernel)
    pads = [side // 2 for side in kernel] * 2
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["p"], "p"),
        helper.make_node("Conv", ["p", "b", "bias"], ["q"], "q", group=group, pads=pads),
        helper.make_node("Conv", ["q", "a"], ["y"], "y"),
    ]
    weights = {"a": (4, 4, *[1] * len(kernel)), "b": (4, 4 // group, *kernel), "bias": (4,)}
    source = network(tmp_path, nodes, list(shape), "y", weights)
    program = optimized(source, session)
    assert apply_sites(program.module, partial(find, stripes=8), {"stripe at q"})
    at_flow = program.fork()
    at_flow.to_phase("flow")
    assert "util.initializer" not in at_flow.text()  # nothing is left to do when it is loaded
    artefact, _ = compiled(program)
    plain, _ = compiled(optimized(source, session))
    np.testing.assert_allclose(results(artefact, source)[0], results(plain, source)[0], rtol=1e-5, atol=1e-5)


def test_stripes_that_differ_by_their_offsets_are_one_executable(session: Session, tmp_path: Path) -> None:
    program, search = optimized(chain(tmp_path, 16), session), partial(find, stripes=8)
    plain = program.fork()
    apply_sites(program.module, search, {"stripe at q"})
    counts = []
    for item in (plain, program):
        item.to_phase("flow")
        counts.append(item.text().count("flow.executable private"))
    assert counts[1] - counts[0] <= 2  # one more copies a part out of the whole


def test_a_dispatch_that_reads_what_it_would_overwrite_has_a_result_of_its_own(
    session: Session, tmp_path: Path
) -> None:
    source = chain(tmp_path, 16)
    program, search = optimized(source, session), partial(find, stripes=4)
    apply_sites(program.module, search, {"stripe at q"})
    assert apply_sites(program.module, pad_on_read.find)  # each part reads what it takes the place of
    artefact, _ = compiled(program)
    plain, _ = compiled(optimized(source, session))
    np.testing.assert_allclose(results(artefact, source)[0], results(plain, source)[0], rtol=1e-5, atol=1e-5)


def test_rows_are_padded_in_copies_of_what_their_dispatches_overwrite(
    session: Session, tmp_path: Path
) -> None:
    source = chain(tmp_path, 1)
    program, search = optimized(source, session), partial(find, stripes=4)
    apply_sites(program.module, search, {"stripe at q"})
    assert apply_sites(program.module, pad_on_read.find) == ["pad-on-read at y"]
    artefact, _ = compiled(program)
    plain, _ = compiled(optimized(source, session))
    np.testing.assert_allclose(results(artefact, source)[0], results(plain, source)[0], rtol=1e-5, atol=1e-5)


def test_keyword_spotting(shared: Path, session: Session) -> None:
    source = load_model(shared / "models" / "tfl_kws_int8.onnx")
    program, search = optimized(source, session), partial(find, stripes=8)
    keys = {key for key, _ in keyed(search(program.module)) if key.startswith("stripe")}
    apply_sites(program.module, search, keys)
    artefact, slab = compiled(program)
    assert slab is not None
    assert slab == 9_600  # 8,000 of one activation, and two of its stripes
    plain, _ = compiled(optimized(source, session))
    assert_same(results(artefact, source), results(plain, source))
