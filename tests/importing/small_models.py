"""Small ONNX models made in tests, and onnxruntime to run them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.load import load_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from serenity_mlir.pipelines.importing.source import SourceModel

Arrays = dict[str, npt.NDArray[Any]]


def value(
    name: str, shape: Sequence[int | str | None] | None, element: int = TensorProto.FLOAT
) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, shape)


def weight(name: str, array: Any, dtype: npt.DTypeLike = np.float32) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(array, dtype), name)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Sequence[onnx.TensorProto] = (),
    opset: int = 17,
    **fields: Any,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "small", inputs, outputs, weights)
    fields = {"opset_imports": [helper.make_opsetid("", opset)], "ir_version": 8} | fields
    return helper.make_model(graph, **fields)


def one_node(  # noqa: PLR0913 - what a node can differ in
    op: str,
    arrays: Mapping[str, npt.NDArray[Any]],
    weights: Sequence[onnx.TensorProto] = (),
    *,
    opset: int = 17,
    results: int = 1,
    element: int = TensorProto.FLOAT,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node that declares the types but not the shapes of its outputs."""
    outputs = [f"y{index}" for index in range(results)]
    node = helper.make_node(op, [*arrays, *(tensor.name for tensor in weights)], outputs, **attributes)
    inputs = [
        value(name, array.shape, helper.np_dtype_to_tensor_dtype(array.dtype))
        for name, array in arrays.items()
    ]
    return model([node], inputs, [value(name, None, element) for name in outputs], weights, opset)


def save(proto: onnx.ModelProto, folder: Path, name: str = "small.onnx") -> Path:
    path = folder / name
    path.write_bytes(proto.SerializeToString())
    return path


def load(proto: onnx.ModelProto, folder: Path) -> SourceModel:
    return load_model(save(proto, folder))


def prepared(source: SourceModel) -> onnx.ModelProto:
    assert source.proto is not None
    return source.proto


def run(proto: onnx.ModelProto, arrays: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """onnxruntime's results, without its graph optimisations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(arrays)))


def random_inputs(source: SourceModel, seed: int = 815) -> Arrays:
    """Inputs as the model declares them; sizes that it leaves open are 2."""
    generator = np.random.default_rng(seed)
    arrays: Arrays = {}
    for item in source.inputs:
        shape = [size if isinstance(size, int) else 2 for size in item.shape]
        kind = np.dtype(item.dtype)
        numbers = generator.normal(size=shape) if kind.kind == "f" else generator.integers(0, 100, shape)
        arrays[item.name] = numbers.astype(kind)
    return arrays


def same(left: Sequence[npt.NDArray[Any]], right: Sequence[npt.NDArray[Any]], rel: float = 1e-6) -> bool:
    """Whether results agree: integers to the bit, floats to `rel` of the largest of each result."""
    return len(left) == len(right) and all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and (
            np.array_equal(a, b)
            or (a.dtype.kind == "f" and bool(np.abs(a - b).max() <= rel * max(1.0, float(np.abs(b).max()))))
        )
        for a, b in zip(left, right, strict=True)
    )


X = np.random.default_rng(7).normal(size=(2, 3, 6, 8)).astype(np.float32)
IO = [value("x", X.shape)], [value("y", None)]


def refusal(proto: onnx.ModelProto, folder: Path) -> SerenityError:
    """The error with which a model is refused: it names the file and a way out."""
    with pytest.raises(SerenityError) as caught:
        load(proto, folder)
    assert caught.value.hint
    assert caught.value.file == str(folder / "small.onnx")
    return caught.value
