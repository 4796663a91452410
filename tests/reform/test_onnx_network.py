"""Models become networks and come back; gates in the open multiply by zero."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from corpus import shared_cases, shared_models
from onnx import TensorProto, helper, numpy_helper
from reform_harness import run

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.reform.onnx_network import load, masked, network_of, rebuilt
from serenity_mlir.pipelines.verify import random_inputs
from serenity_mlir.reform.gates import Gates


@pytest.mark.parametrize("path", shared_models())
def test_a_model_comes_back(path: Path) -> None:
    model, network = load(path)
    again = rebuilt(model, network)
    onnx.checker.check_model(again)
    inputs = random_inputs(load_model(path).inputs)
    for one, other in zip(run(model, inputs), run(again, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("folder", shared_cases())
def test_a_case_comes_back_with_all_its_nodes(folder: Path) -> None:
    try:
        model, network = load(folder / "model.onnx")
    except SerenityError as error:
        pytest.skip(f"does not load: {error.message}")
    again = rebuilt(model, network)
    onnx.checker.check_model(again)
    kept = [node.name for node in model.graph.node if node.op_type != "Constant"]
    assert [node.name for node in again.graph.node] == kept


def captures() -> onnx.ModelProto:
    """An If whose branches read `c`, a Constant; and a product of `x`."""
    branch = [
        helper.make_graph(
            [helper.make_node(op, ["c"], [f"{op}_r"], name=f"in_{op}")],
            op,
            [],
            [helper.make_tensor_value_info(f"{op}_r", TensorProto.FLOAT, [2, 3])],
        )
        for op in ("Relu", "Neg")
    ]
    value = numpy_helper.from_array(np.full((2, 3), -2, np.float32))
    nodes = [
        helper.make_node("Constant", [], ["k"], name="k", value=value),
        helper.make_node("Add", ["x", "k"], ["c"], name="add"),
        helper.make_node("If", ["p"], ["y"], name="if", then_branch=branch[0], else_branch=branch[1]),
    ]
    graph = helper.make_graph(
        nodes,
        "main",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
            helper.make_tensor_value_info("p", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    )
    return infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def test_what_a_subgraph_reads_is_an_input_of_its_node() -> None:
    network = network_of(captures())
    (add, branch) = network.nodes
    assert add.name == "add"
    assert branch.inputs == ("p", "c")
    assert branch.own_inputs == 1
    assert network.consumers["c"] == (branch,)
    np.testing.assert_array_equal(network.tensors["k"].value, np.full((2, 3), -2))


def test_gates_multiply_where_a_tensor_is_made_even_what_subgraphs_read() -> None:
    gated = masked(captures(), {"c": np.array([True, False, True])})
    x = np.array([[1, 5, 9], [2, 6, 3]], np.float32)
    (found,) = run(gated, {"x": x, "p": np.array(False)})
    np.testing.assert_array_equal(found, -(x - 2) * [1, 0, 1])


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ({"c": np.array([True])}, "wants 3 booleans"),
        ({"x": np.array([True, True, False])}, "no node makes this tensor"),
        ({"nowhere": np.array([True])}, "there is no such tensor"),
    ],
)
def test_gates_that_do_not_fit_are_refused(gates: Gates, message: str) -> None:
    with pytest.raises(SerenityError, match=message):
        masked(captures(), gates)
