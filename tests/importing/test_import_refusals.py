"""What cannot be compiled is refused before the compiler runs, by the name of its node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import X, model, one_node, refusal, value, weight

SEQUENCE = model(
    [
        helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
        helper.make_node("SequenceLength", ["s"], ["y"]),
    ],
    [value("x", [2])],
    [value("y", [], TensorProto.INT64)],
)


@pytest.mark.parametrize(
    ("proto", "where", "message"),
    [
        (SEQUENCE, "node 'SequenceConstruct_0' (SequenceConstruct)", "'s' is a sequence"),
        (
            one_node("Nonsense", {"x": X}),
            "node 'Nonsense_0' (Nonsense)",
            "ONNX has no operator 'Nonsense' in opset 17",
        ),
        (one_node("Gelu", {"x": X}), "node 'Gelu_0' (Gelu)", "ONNX has no operator 'Gelu' in opset 17"),
        (
            one_node("FusedConv", {"x": X}, domain="com.microsoft"),
            "node 'FusedConv_0' (com.microsoft::FusedConv)",
            "the operator 'FusedConv' of domain 'com.microsoft' cannot be compiled",
        ),
        (
            one_node("StringNormalizer", {"x": np.zeros(2, object)}, element=TensorProto.STRING),
            "node 'StringNormalizer_0' (StringNormalizer)",
            "no conversion of the operator",
        ),
        (
            one_node("Identity", {"x": np.zeros(2, object)}, element=TensorProto.STRING),
            "input 'x'",
            "element type string",
        ),
        (
            one_node("MaxPool", {"x": X}, results=2, kernel_shape=[2, 2]),
            "node 'MaxPool_0' (MaxPool)",
            "MaxPool's indices",
        ),
        (
            model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [2**31, 2**31])], [value("y", None)]),
            "input 'x'",
            "more elements than can be counted: 2147483648 x 2147483648",
        ),
        (
            one_node("Conv", {"x": X}, [weight("w", np.zeros((3, 3, 1, 1)))], group=-1),
            "node 'Conv_0' (Conv)",
            "the attribute 'group' must be positive, not -1",
        ),
        (
            model(
                [helper.make_node("Relu", ["x"], ["y"])],
                [value("x", [2])],
                [value("y", [2], TensorProto.UINT8)],
            ),
            "output 'y'",
            "declared as uint8, but it is float32",
        ),
        (
            one_node("MatMul", {"x": X}, [weight("w", np.zeros((2, 2)))]),
            "node 'MatMul_0' (MatMul)",
            "cannot be inferred: [ShapeInferenceError] Inference error(s): (op_type:MatMul, node",
        ),
        (
            one_node("Reshape", {"x": X, "s": np.zeros(0, np.int64)}),
            "node 'Reshape_0' (Reshape)",
            "the number of dimensions of 'y0' cannot be inferred",
        ),
    ],
)
def test_what_cannot_be_compiled_is_named(
    tmp_path: Path, proto: onnx.ModelProto, where: str, message: str
) -> None:
    for input_ in proto.graph.input:
        if input_.name == "s":  # of a length that nobody knows
            input_.type.tensor_type.shape.dim[0].dim_param = "rank"
    if proto.graph.node[0].domain:
        proto.opset_import.add(domain=proto.graph.node[0].domain, version=1)
    if "MaxPool" in where:
        proto.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    error = refusal(proto, tmp_path)
    assert message in error.message
    assert error.where == where


@pytest.mark.parametrize("version", [0, 99, 1 << 40])
def test_opsets_that_do_not_exist(version: int, tmp_path: Path) -> None:
    proto = one_node("Relu", {"x": X})
    proto.opset_import[0].version = version
    assert f"is written in opset {version}" in refusal(proto, tmp_path).message
