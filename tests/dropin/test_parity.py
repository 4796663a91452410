"""The same results as iree-compile, in no more memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dropin_harness import (
    CHAIN,
    DYNAMIC,
    TARGET,
    Array,
    branch_inputs,
    branches,
    built,
    dropin,
    invoke,
    serenity,
    stock,
)

from serenity_mlir.report import read_report

WIDE = 32 * 256 * 4
NARROW = 32 * 8 * 4


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "program.mlir"
    path.write_text(branches())
    return path


@pytest.fixture(scope="module")
def ours(program: Path) -> bytes:
    return built(dropin(program, *TARGET))


@pytest.fixture(scope="module")
def theirs(program: Path) -> bytes:
    return built(stock(program, *TARGET))


@pytest.fixture(scope="module")
def expected() -> Array:
    *inputs, w1, w2 = branch_inputs()
    total: Array = np.sum([x @ w1 @ w2 for x in inputs], axis=0)
    return total


def test_same_results_in_less_memory(ours: bytes, theirs: bytes, expected: Array, tmp_path: Path) -> None:
    (found,), peak = invoke(ours, branch_inputs(), tmp_path)
    (reference,), stock_peak = invoke(theirs, branch_inputs(), tmp_path)
    np.testing.assert_array_equal(found, reference)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)
    assert stock_peak - peak > 2 * WIDE


def test_report_and_table(program: Path, ours: bytes, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    flags = ("--serenity-compare-stock", f"--serenity-report={report}")
    done = dropin(program, *TARGET, *flags, "-o", tmp_path / "x")
    assert done.returncode == 0
    assert b"best of stock" in done.stderr
    memory = read_report(report).memory
    assert memory.stock is not None
    assert memory.stock.best is not None
    assert memory.slab is not None
    assert WIDE <= memory.slab <= WIDE + 4 * NARROW < memory.stock.best
    assert (tmp_path / "x").read_bytes() == ours
    _, peak = invoke(ours, branch_inputs(), tmp_path)
    assert memory.slab <= peak - NARROW <= memory.slab + sum(item.nbytes for item in branch_inputs())


def test_two_runs_give_the_same_bytes_and_those_of_serenity_compile(
    program: Path, ours: bytes, tmp_path: Path
) -> None:
    output = tmp_path / "again.vmfb"
    assert dropin(program, "-o", output, *TARGET).stdout == b""
    assert output.read_bytes() == ours
    assert serenity("compile", program, "--no-rewrite", "--no-regions", "-o", output).returncode == 0
    assert output.read_bytes() == ours


@pytest.mark.parametrize("source", [CHAIN, DYNAMIC], ids=["chain", "dynamic"])
def test_what_has_one_order_becomes_what_iree_compile_makes_of_it(source: str, tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text(source)  # no suffix is asked for
    arguments = ("model.txt", *TARGET, "--iree-opt-level=O2")
    assert built(dropin(*arguments, cwd=tmp_path)) == built(stock(*arguments, cwd=tmp_path))


def test_disabled_it_is_iree_compile(program: Path, theirs: bytes) -> None:
    assert built(dropin(program, *TARGET, "--serenity-disable")) == theirs


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_stock_finishes_what_serenity_compile_stops_at(
    program: Path, ours: bytes, suffix: str, tmp_path: Path
) -> None:
    stopped = tmp_path / f"stopped{suffix}"
    done = serenity(
        "compile",
        program,
        "--no-rewrite",
        "--no-regions",
        "-o",
        stopped,
        "--emit",
        "mlir",
        "--phase",
        "stream",
    )
    assert done.returncode == 0, done.stderr.decode()
    finished = built(stock(stopped, "--compile-from=stream"))
    if suffix == ".mlirbc":
        assert finished == ours
        return
    # Text leaves out locations, which are in the module; code, order and slab are the same.
    (found,), peak = invoke(finished, branch_inputs(), tmp_path)
    (reference,), our_peak = invoke(ours, branch_inputs(), tmp_path)
    np.testing.assert_array_equal(found, reference)
    assert peak == our_peak


def test_our_parts_can_be_left_out(program: Path, ours: bytes, tmp_path: Path) -> None:
    unordered = built(dropin(program, *TARGET, "--serenity-no-schedule"))
    (found,), peak = invoke(unordered, branch_inputs(), tmp_path)
    (reference,), best = invoke(ours, branch_inputs(), tmp_path)
    np.testing.assert_array_equal(found, reference)
    assert peak - best > 2 * WIDE
    assert built(dropin(program, *TARGET, "--serenity-no-arena")) != b""


def test_onnx(tmp_path: Path) -> None:
    model, imported = tmp_path / "model.onnx", tmp_path / "model.mlir"
    _write_onnx(model)
    from iree.compiler.tools.import_onnx import __main__ as importer  # noqa: PLC0415  (ONNX is heavy)

    importer.main(importer.parse_arguments([str(model), "-o", str(imported)]))
    inputs = [np.random.default_rng(3).standard_normal((1, 4, 16, 16)).astype(np.float32)]
    (reference,), stock_peak = invoke(built(stock(imported, *TARGET)), inputs, tmp_path)
    for source in (model, imported):
        (found,), peak = invoke(built(dropin(source, *TARGET)), inputs, tmp_path)
        np.testing.assert_allclose(found, reference, rtol=1e-5, atol=1e-5)
        assert peak < stock_peak


def _write_onnx(path: Path) -> None:
    """Four branches of two convolutions, in an order that keeps every wide tensor alive."""
    import onnx  # noqa: PLC0415  (heavy)
    from onnx import helper, numpy_helper  # noqa: PLC0415

    generator = np.random.default_rng(5)
    weights, nodes = [], []
    for layer, (outputs, inputs) in (("wide", (32, 4)), ("narrow", (2, 32))):
        for branch in range(4):
            name = f"{layer}{branch}"
            values = generator.standard_normal((outputs, inputs, 3, 3)).astype(np.float32)
            weights.append(numpy_helper.from_array(values, f"{name}_w"))
            source = "x" if layer == "wide" else f"wide{branch}"
            nodes.append(
                helper.make_node("Conv", [source, f"{name}_w"], [name], name=name, pads=[1, 1, 1, 1])
            )
    nodes.append(helper.make_node("Concat", [f"narrow{branch}" for branch in range(4)], ["y"], axis=1))
    tensor = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", tensor, [1, 4, 16, 16])],
        [helper.make_tensor_value_info("y", tensor, [1, 8, 16, 16])],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
