"""The evaluator in torch computes what onnxruntime computes, op by op and on whole networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import shared_cases, shared_models
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_networks import classifier, one_node, samples

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.reform.onnx_network import load, masked, network_of, rebuilt
from serenity_mlir.pipelines.verify import random_inputs

torch = pytest.importorskip("torch", reason="PyTorch, the train extra, is not installed")
torch.set_num_threads(1)  # several tests run at once


from serenity_mlir.pipelines.reform.train.evaluator import Evaluator, with_weights  # noqa: E402
from serenity_mlir.pipelines.reform.train.operators import OPERATORS  # noqa: E402

onnxruntime = pytest.importorskip("onnxruntime")
RNG = np.random.default_rng(5)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def real(value: float | list[float]) -> np.ndarray:
    return np.array(value, dtype=np.float32)


def int8(value: int | list[int] | list[list[int]]) -> np.ndarray:
    return np.array(value, dtype=np.int8)


def reference(model: Any, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [np.asarray(item) for item in session.run(None, feeds)]


def evaluated(model: Any, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    network = network_of(model)
    with torch.no_grad():
        found = Evaluator(network).run({name: torch.from_numpy(value) for name, value in feeds.items()})
    return [found[name].numpy() for name in network.outputs]


def assert_same(model: Any, feeds: dict[str, np.ndarray]) -> None:
    expected, found = reference(model, feeds), evaluated(model, feeds)
    for one, other in zip(expected, found, strict=True):
        assert one.shape == other.shape
        if one.size:
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(one).max()))


UNARY = (
    "Abs", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Mish", "Neg",
    "Reciprocal", "Relu", "Sigmoid", "Softplus", "Softsign", "Tanh", "Softmax", "LogSoftmax",
    "GlobalAveragePool", "GlobalMaxPool", "Flatten", "Shape", "ReduceMean", "ReduceSum", "ReduceMax",
    "ReduceMin",
)  # fmt: skip
IMAGE = (floats(2, 4, 7, 6),)
MATRIX = (floats(3, 5),)
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum")
CASES: list[tuple[str, tuple[np.ndarray, ...], dict[int, np.ndarray], dict[str, Any]]] = [
    *((op, IMAGE, {}, {}) for op in UNARY),
    ("Log", (np.abs(floats(3, 4)) + 1,), {}, {}),
    ("Sqrt", (np.abs(floats(3, 4)),), {}, {}),
    ("Dropout", IMAGE, {}, {}),
    ("Cast", MATRIX, {}, {"to": 7}),
    ("Gelu", IMAGE, {}, {"approximate": "tanh"}),
    ("Elu", IMAGE, {}, {"alpha": 0.3}),
    ("LeakyRelu", IMAGE, {}, {"alpha": 0.3}),
    ("HardSigmoid", IMAGE, {}, {"alpha": 0.3, "beta": 0.4}),
    *((op, (floats(2, 4, 3), floats(4, 1)), {}, {}) for op in BINARY),
    ("Div", (ints(-7, 7, 9), ints(2, -2, 3)), {}, {}),
    ("Pow", (np.abs(floats(2, 3)),), {1: real(2.5)}, {}),
    ("PRelu", IMAGE, {1: floats(4, 1, 1)}, {}),
    ("Clip", IMAGE, {1: real(-0.3), 2: real(0.5)}, {}),
    ("Clip", IMAGE, {2: real(0.5)}, {}),
    ("Where", (np.array([True, False, True]), floats(2, 3), floats(3)), {}, {}),
    (
        "Gemm",
        (floats(5, 3),),
        {1: floats(4, 5), 2: floats(4)},
        {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0},
    ),
    ("Gemm", (floats(3, 5),), {1: floats(5, 4)}, {}),
    ("MatMul", (floats(2, 3, 5),), {1: floats(5, 4)}, {}),
    (
        "BatchNormalization",
        IMAGE,
        {1: floats(4), 2: floats(4), 3: floats(4), 4: np.abs(floats(4)) + 0.1},
        {"epsilon": 1e-2},
    ),
    ("InstanceNormalization", IMAGE, {1: floats(4), 2: floats(4)}, {"epsilon": 1e-3}),
    ("Concat", (floats(2, 3), floats(2, 4)), {}, {"axis": -1}),
    ("Slice", IMAGE, {1: ints(-1, 1), 2: ints(-100, 2**31), 3: ints(1, -1), 4: ints(-2, 3)}, {}),
    ("Slice", IMAGE, {1: ints(1), 2: ints(3)}, {}),
    ("Reshape", IMAGE, {1: ints(0, -1, 3)}, {}),
    ("Transpose", IMAGE, {}, {}),
    ("Transpose", IMAGE, {}, {"perm": [0, 2, 3, 1]}),
    ("Squeeze", (floats(2, 1, 3, 1),), {1: ints(-1)}, {}),
    ("Squeeze", (floats(2, 1, 3, 1),), {}, {}),
    ("Unsqueeze", MATRIX, {1: ints(-1, 0)}, {}),
    ("Flatten", IMAGE, {}, {"axis": -1}),
    ("Flatten", IMAGE, {}, {"axis": 0}),
    ("Pad", IMAGE, {1: ints(0, 1, 2, 0, 0, 0, 1, 3), 2: real(0.7)}, {}),
    ("Pad", IMAGE, {1: ints(2, -1, 1, 0), 3: ints(-1, 2)}, {}),
    ("Pad", IMAGE, {1: ints(0, 1, 2, 0, 0, 0, 1, 3)}, {"mode": "edge"}),
    ("Pad", IMAGE, {1: ints(0, 1, 2, 0, 0, 3, 1, 3)}, {"mode": "reflect"}),
    ("Gather", IMAGE, {1: ints(3, -1, 0, 0).reshape(2, 2)}, {"axis": 1}),
    ("Expand", (floats(3, 1),), {1: ints(2, 1, 4)}, {}),
    ("ReduceMean", IMAGE, {1: ints(-1, 2)}, {"keepdims": 0}),
    ("ReduceSum", IMAGE, {}, {"noop_with_empty_axes": 1}),
    ("Shape", IMAGE, {}, {"start": 1, "end": -1}),
    ("Resize", IMAGE, {2: real([1, 1, 2, 3])}, {"mode": "nearest"}),
    (
        "Resize",
        IMAGE,
        {3: ints(2, 4, 5, 9)},
        {"coordinate_transformation_mode": "asymmetric", "mode": "nearest", "nearest_mode": "floor"},
    ),
    ("Resize", IMAGE, {3: ints(2, 4, 5, 9)}, {"mode": "linear"}),
    (
        "Resize",
        IMAGE,
        {3: ints(2, 4, 5, 9)},
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    ),
    ("AveragePool", IMAGE, {}, {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ("Conv", IMAGE, {1: floats(6, 4, 3, 2)}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ("Conv", (floats(2, 3, 9),), {1: floats(4, 3, 3), 2: floats(4)}, {"pads": [2, 0], "dilations": [2]}),
    ("Conv", (floats(1, 2, 4, 4, 4),), {1: floats(3, 2, 2, 2, 2)}, {}),
    ("QuantizeLinear", (floats(3, 4) * 9,), {1: real(0.1), 2: int8(3)}, {}),
    (
        "DequantizeLinear",
        (int8([[1, -5], [7, 9]]),),
        {1: real([0.1, 0.2]), 2: int8([1, 2])},
        {"axis": 0},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_an_op_is_evaluated(case: tuple[str, tuple[np.ndarray, ...], Any, Any]) -> None:
    op, inputs, constants, attributes = case
    assert_same(*one_node(op, inputs, constants, attributes))


def test_split() -> None:
    assert_same(*one_node("Split", IMAGE, {}, {"axis": 1, "num_outputs": 3}, outputs=3))
    assert_same(*one_node("Split", IMAGE, {1: ints(1, 3)}, {"axis": 1}, outputs=2))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_windows_of_all_kinds(data: st.DataObject) -> None:
    draw = data.draw
    op = draw(st.sampled_from(["Conv", "ConvTranspose", "MaxPool", "AveragePool"]))
    kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    pads = [draw(st.integers(0, size - 1)) for size in kernel] + [
        draw(st.integers(0, size - 1)) for size in kernel
    ]
    attributes: dict[str, Any] = {
        "pads": pads,
        "strides": list(draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))),
    }
    group = draw(st.sampled_from([1, 2, 4]))
    constants = {}
    if op in ("Conv", "ConvTranspose"):
        attributes |= {
            "group": group,
            "dilations": list(draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))),
        }
        shape = (8, 4 // group, *kernel) if op == "Conv" else (4, 8 // group, *kernel)
        constants = {1: floats(*shape)} | ({2: floats(8)} if draw(st.booleans()) else {})
        if op == "ConvTranspose":
            strides = attributes["strides"]
            attributes["output_padding"] = [draw(st.integers(0, stride - 1)) for stride in strides]
    else:
        attributes |= {"kernel_shape": list(kernel), "ceil_mode": draw(st.integers(0, 1))}
        if op == "AveragePool":
            attributes["count_include_pad"] = draw(st.integers(0, 1))
        else:
            attributes["dilations"] = list(draw(st.tuples(st.integers(1, 2), st.integers(1, 2))))
    assert_same(*one_node(op, (floats(2, 4, 8, 7),), constants, attributes))


SLOW = ("tfl_swiftnet_vwwc224_uint8", "ultraface_RFB-320", "yunet_n_320")  # with ops that others have, too
NETWORKS = [case for case in (*shared_models(), *shared_cases()) if case.id not in SLOW]


@pytest.mark.parametrize("path", NETWORKS)
def test_a_network_is_evaluated(path: Path) -> None:
    path = path / "model.onnx" if path.is_dir() else path
    try:
        model, network = load(path)
    except SerenityError as error:
        pytest.skip(f"does not load: {error.message}")
    unknown = sorted({node.op for node in network.nodes} - OPERATORS.keys())
    if unknown:
        with pytest.raises(SerenityError, match=f"{unknown[0]}|{unknown[-1]}"):
            Evaluator(network)
        return
    if path.stem == "tfl_tflm_micro_speech":
        pytest.skip("onnxruntime refuses it")
    assert_same(model, random_inputs(load_model(path).inputs))


def test_gates_multiply_where_tensors_are_made() -> None:
    model = classifier(0)
    inputs, _ = samples(4, 0)
    keep = np.arange(8) % 3 > 0
    gate = torch.from_numpy(keep.astype(np.float32)).reshape(1, 8, 1, 1)
    network = network_of(model)
    found = Evaluator(network).run({"x": torch.from_numpy(inputs["x"])}, gates={"n1": gate})
    (expected,) = reference(masked(model, {"n1": keep}), inputs)
    np.testing.assert_allclose(found["y"].detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_trained_weights_are_written_back_by_name() -> None:
    model = classifier(0)
    network = network_of(model)
    evaluator = Evaluator(network)
    assert set(evaluator.weights) == {"w1", "b1", "s", "t", "w2", "b2", "w3", "b3", "w4", "b4"}
    with torch.no_grad():
        for weight in evaluator.weights.values():
            weight.mul_(1.25)
    inputs, _ = samples(4, 0)
    found = evaluator.run({"x": torch.from_numpy(inputs["x"])})["y"].detach().numpy()
    (before,) = reference(model, inputs)
    (after,) = reference(rebuilt(model, with_weights(network, evaluator.trained())), inputs)
    np.testing.assert_allclose(found, after, rtol=1e-4, atol=1e-5)
    assert np.abs(after - before).max() > 0.1


def test_an_op_without_a_gradient_is_named() -> None:
    model, _ = one_node("Atanh", (floats(2, 2),), {}, {})
    with pytest.raises(SerenityError, match=r"n: Atanh has no gradient") as caught:
        Evaluator(network_of(model))
    assert "--static" in str(caught.value)
