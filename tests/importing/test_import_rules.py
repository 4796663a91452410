"""Each thing that preparation repairs, on a model small enough to see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from small_models import IO, X, load, model, one_node, prepared, refusal, run, same, value, weight

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.order_nodes import order_nodes


def names(proto: onnx.ModelProto) -> list[str]:
    return [node.name for node in proto.graph.node]


# Order


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.data())))
def test_any_stored_order_becomes_topological(drawn: tuple[list[int], st.DataObject]) -> None:
    order, data = drawn
    nodes = []
    for index in range(len(order)):
        sources = data.draw(st.lists(st.integers(0, index), min_size=1, max_size=3))
        nodes.append(
            helper.make_node("Sum", [f"v{source}" for source in sources], [f"v{index + 1}"], name=f"n{index}")
        )
    proto = model([nodes[index] for index in order], [value("v0", [1])], [value(f"v{len(order)}", [1])])
    order_nodes(proto)
    onnx.checker.check_model(proto)
    assert sorted(names(proto)) == sorted(node.name for node in nodes)


def test_nodes_in_order_stay_where_they_are(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], [f"r{index}"], name=f"r{index}") for index in (2, 0, 1)]
    nodes.append(helper.make_node("Sum", ["r0", "r1", "r2"], ["y"], name="sum"))
    assert names(prepared(load(model(nodes, *IO), tmp_path))) == ["r2", "r0", "r1", "sum"]


def test_order_is_restored_inside_subgraphs_and_around_captures(tmp_path: Path) -> None:
    branch = helper.make_graph(
        [helper.make_node("Neg", ["inner"], ["b"]), helper.make_node("Relu", ["late"], ["inner"])],
        "branch",
        [],
        [value("b", X.shape)],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["e"])], "other", [], [value("e", X.shape)]
    )
    nodes = [
        helper.make_node("If", ["p"], ["y"], name="choose", then_branch=branch, else_branch=other),
        helper.make_node("Exp", ["x"], ["late"], name="late"),
    ]
    inputs = [value("x", X.shape), value("p", [], TensorProto.BOOL)]
    proto = prepared(load(model(nodes, inputs, [value("y", X.shape)]), tmp_path))
    assert names(proto) == ["late", "choose"]
    (then,) = (attribute.g for attribute in proto.graph.node[1].attribute if attribute.name == "then_branch")
    assert [node.op_type for node in then.node] == ["Relu", "Neg"]
    (found,) = run(proto, {"x": X, "p": np.array(True)})
    np.testing.assert_allclose(found, -np.exp(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("nodes", "where", "message"),
    [
        ([("Relu", "b", "y", "one"), ("Exp", "y", "b", "two")], "node 'one' (Relu)", "cycle"),
        ([("Relu", "gone", "y", "one")], "node 'one' (Relu)", "reads 'gone', which nothing makes"),
        (
            [("Relu", "x", "y", "one"), ("Exp", "x", "y", "two")],
            "node 'two' (Exp)",
            "makes 'y', which exists already",
        ),
        (
            [("Relu", "x", "x", "one"), ("Exp", "x", "y", "two")],
            "node 'one' (Relu)",
            "makes 'x', which exists",
        ),
        ([("Relu", "x", "z", "one")], "graph 'small'", "nothing makes the output 'y'"),
    ],
)
def test_no_order_exists(
    tmp_path: Path, nodes: list[tuple[str, str, str, str]], where: str, message: str
) -> None:
    made = [helper.make_node(op, [read], [makes], name=name) for op, read, makes, name in nodes]
    with pytest.raises(SerenityError) as caught:
        load(model(made, *IO), tmp_path)
    assert message in caught.value.message
    assert caught.value.where == where


# Names and initialisers


def test_unnamed_nodes_are_named_by_op_and_place(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Neg", ["a"], ["b"], name="Exp_2"),
        helper.make_node("Exp", ["b"], ["y"]),
    ]
    assert names(prepared(load(model(nodes, *IO), tmp_path))) == ["Relu_0", "Exp_2", "Exp_2_1"]


def test_initialisers_are_constants_and_unread_ones_are_gone(tmp_path: Path) -> None:
    weights = [weight("w", X), weight("unread", X)]
    inputs = [value("x", X.shape), value("w", X.shape), value("unread", X.shape)]
    proto = model(
        [helper.make_node("Add", ["x", "w"], ["y"])], inputs, [value("y", X.shape)], weights, ir_version=3
    )
    source = load(proto, tmp_path)
    assert [item.name for item in source.inputs] == ["x"]
    assert [tensor.name for tensor in prepared(source).graph.initializer] == ["w"]
    assert same(run(prepared(source), {"x": X}), [X + X])


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int32", "int64", "uint64", "bool"])
def test_typed_values_become_bytes(tmp_path: Path, dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    tensor = helper.make_tensor("w", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.ravel())
    assert not tensor.HasField("raw_data")
    proto = model(
        [helper.make_node("Identity", ["w"], ["y"])], [], [value("y", [2, 3], tensor.data_type)], [tensor]
    )
    found = prepared(load(proto, tmp_path))
    assert found.graph.initializer[0].raw_data == array.tobytes()
    assert same(run(found, {}), [array])


@pytest.mark.parametrize("change", ["short", "long", "negative", "none", "text", "field"])
def test_damaged_weights_are_refused(tmp_path: Path, change: str) -> None:
    proto = one_node("Add", {"x": X}, [weight("w", [[1, 2], [3, 4]])])
    tensor = proto.graph.initializer[0]
    if change == "short":
        tensor.raw_data = tensor.raw_data[:-1]
    elif change == "long":
        tensor.raw_data += b"\0"
    elif change == "negative":
        tensor.dims[0] = -2
    elif change == "none":
        tensor.data_type = 0
    elif change == "text":
        tensor.data_type = TensorProto.STRING
    else:
        tensor.ClearField("raw_data")
        tensor.float_data.append(1.0)
    assert refusal(proto, tmp_path).where == "initializer 'w'"


def test_sparse_weights_are_refused(tmp_path: Path) -> None:
    proto = model([helper.make_node("Identity", ["w"], ["y"])], [], [value("y", [4])])
    sparse = helper.make_sparse_tensor(weight("w", [1.0]), weight("", [2], np.int64), [4])
    proto.graph.sparse_initializer.append(sparse)
    assert "sparse" in refusal(proto, tmp_path).message


# Functions


def shift(opset: int, *calls: str) -> onnx.FunctionProto:
    nodes = [helper.make_node("Relu", ["a"], ["t"], name="clip"), helper.make_node("Neg", ["t"], ["r"])]
    nodes += [helper.make_node(call, ["r"], [f"unused_{call}"], domain="mine") for call in calls]
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    return helper.make_function("mine", "Shift", ["a"], ["r"], nodes, imports)


def calling(function: onnx.FunctionProto) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Shift", ["x"], ["m"], domain="mine"),
        helper.make_node("Shift", ["m"], ["y"], domain="mine"),
    ]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return model(
        nodes, [value("x", X.shape)], [value("y", X.shape)], opset_imports=imports, functions=[function]
    )


@pytest.mark.parametrize("opset", [13, 17])
def test_functions_are_inlined_whatever_their_opset(tmp_path: Path, opset: int) -> None:
    proto = prepared(load(calling(shift(opset)), tmp_path))
    assert [node.op_type for node in proto.graph.node] == ["Relu", "Neg"] * 2
    assert len(set(names(proto))) == 4
    assert not proto.functions
    assert same(run(proto, {"x": X}), [-np.maximum(-np.maximum(X, 0), 0)])


def test_a_recursive_function_is_refused(tmp_path: Path) -> None:
    assert "cannot be inlined" in refusal(calling(shift(17, "Shift")), tmp_path).message


# Mean, pooling


@pytest.mark.parametrize("operands", [1, 3, 4, 6, 35])
@pytest.mark.parametrize("opset", [8, 13, 17])
def test_mean_of_many_is_onnxruntimes_to_the_bit(tmp_path: Path, operands: int, opset: int) -> None:
    arrays = {f"x{index}": X[:1] * (index + 1) for index in range(operands)} | {"x0": X}
    proto = one_node("Mean", arrays, opset=opset)
    found = prepared(load(proto, tmp_path))
    assert ("Mean" in {node.op_type for node in found.graph.node}) == (operands <= 3)
    assert all(name.startswith("Mean_0") for name in names(found))
    assert all(np.array_equal(a, b) for a, b in zip(run(found, arrays), run(proto, arrays), strict=True))


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize("strides", [[2, 2], [2, 3], [3, 3]])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 1], [0, 1, 1, 1]])
def test_ceil_mode_becomes_padding(tmp_path: Path, op: str, strides: list[int], pads: list[int]) -> None:
    pool: dict[str, Any] = {"kernel_shape": [2, 3], "strides": strides, "pads": pads, "ceil_mode": 1}
    proto = one_node(op, {"x": X}, opset=18 if op == "LpPool" else 19 if op == "AveragePool" else 12, **pool)
    found = prepared(load(proto, tmp_path))
    assert "ceil_mode" not in {attribute.name for attribute in found.graph.node[0].attribute}
    expected = run(proto, {"x": X})
    assert same(run(found, {"x": X}), expected)
    declared = [dim.dim_value for dim in found.graph.output[0].type.tensor_type.shape.dim]
    assert declared == list(expected[0].shape)


def test_what_ceil_mode_cannot_become_is_refused(tmp_path: Path) -> None:
    pool: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1}
    assert "average over padding" in refusal(one_node("AveragePool", {"x": X}, **pool), tmp_path).message
    proto = one_node("MaxPool", {"x": X}, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    proto.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "H"
    assert "known height and width" in refusal(proto, tmp_path).message


def test_inner_shapes_that_the_file_has_wrong_do_not_count(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Neg", ["r"], ["y"])]
    proto = model(nodes, *IO)
    proto.graph.value_info.append(value("r", [1, 3, 6, 8]))  # the batch size of before
    found = prepared(load(proto, tmp_path))
    shapes = {
        item.name: [dim.dim_value for dim in item.type.tensor_type.shape.dim]
        for item in found.graph.value_info
    }
    assert shapes["r"] == list(X.shape)


@pytest.mark.parametrize(
    ("sizes", "declared", "expected"),
    [
        ([2, 3], [1, 3], (2, 3)),
        ([2, 3], [2, 3, 1], (2, 3)),
        ([2, 3], ["N", None], (2, 3)),
        ([2, 3], None, (2, 3)),
        (["N", 3], ["M", 3], ("N", 3)),
        (["N", 3], [4, 3], ("N", 3)),
        ([None, 3], [4, 3], (None, 3)),
        ([None, 3], None, (None, 3)),
    ],
)
def test_outputs_have_the_shape_that_they_have(
    tmp_path: Path,
    sizes: list[int | str | None],
    declared: list[int | str | None] | None,
    expected: tuple[Any, ...],
) -> None:
    proto = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", sizes)], [value("y", declared)])
    assert load(proto, tmp_path).outputs[0].shape == expected


@pytest.mark.parametrize("given", ["x", "w"])
def test_inputs_and_weights_may_be_outputs(tmp_path: Path, given: str) -> None:
    """Beside a result, as graphs that were cut in two have them."""
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = model(
        [node],
        [value("x", [2, 3])],
        [value("y", [2, 3]), value(given, [2, 3])],
        [weight("w", np.ones((2, 3)))],
    )
    inputs = {"x": np.full((2, 3), 2, np.float32)}
    source = load(proto, tmp_path)
    assert [item.shape for item in source.outputs] == [(2, 3), (2, 3)]
    assert same(run(prepared(source), inputs), run(proto, inputs))
