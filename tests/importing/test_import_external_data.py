"""Weights in files next to the model: any size, and only next to the model."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import load, model, one_node, prepared, random_inputs, run, same, value, weight

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.clean_graph import opset_of
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.prepare_onnx import prepare_onnx
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.iree_api import Session

W = np.random.default_rng(1).normal(size=(64, 64)).astype(np.float32)


def with_external(folder: Path, entries: dict[str, str], data: bytes | None = W.tobytes()) -> Path:
    """A model whose one weight, 64 x 64 floats, is described by `entries`; `data` goes into w.bin."""
    proto = one_node("MatMul", {"x": W}, [weight("w", W)])
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=text)
    folder.mkdir(exist_ok=True)
    if data is not None:
        (folder / "w.bin").write_bytes(data)
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def test_external_weights_are_in_memory_afterwards(tmp_path: Path) -> None:
    path = with_external(
        tmp_path, {"location": "w.bin", "offset": "8", "length": str(W.nbytes)}, b"12345678" + W.tobytes()
    )
    proto = prepared(load_model(path))
    assert np.array_equal(numpy_helper.to_array(proto.graph.initializer[0]), W)
    onnx.checker.check_model(proto)


@pytest.mark.parametrize(
    ("entries", "data", "message"),
    [
        ({"location": "w.bin"}, None, "the external data file 'w.bin' is missing"),
        ({"location": ""}, None, "is missing"),
        ({}, None, "is missing"),
        ({"location": "."}, None, "is missing"),
        ({"location": "w.bin"}, W.tobytes()[:-1], "too short"),
        ({"location": "w.bin", "offset": "1"}, W.tobytes(), "too short"),
        ({"location": "w.bin", "offset": "-1"}, W.tobytes(), "offset is '-1', not a number"),
        ({"location": "w.bin", "length": "12"}, W.tobytes(), "needs 16384 bytes, its external data has 12"),
        ({"location": "../w.bin"}, W.tobytes(), "outside the model's folder"),
        ({"location": "sub/../../w.bin"}, W.tobytes(), "outside the model's folder"),
        ({"location": "/etc/passwd"}, None, "outside the model's folder"),
        ({"location": "C:\\w.bin"}, None, "outside the model's folder"),
        ({"location": "..\\w.bin"}, None, "outside the model's folder"),
    ],
)
def test_external_data_that_cannot_be_used(
    tmp_path: Path, entries: dict[str, str], data: bytes | None, message: str
) -> None:
    path = with_external(tmp_path / "model", entries, data)
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    with pytest.raises(SerenityError, match="external data") as caught:
        load_model(path)
    assert message in caught.value.message
    assert caught.value.file == str(path)
    assert caught.value.where == "initializer 'w'"


def test_a_link_out_of_the_folder_is_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(W.tobytes())
    path = with_external(tmp_path / "model", {"location": "w.bin"}, None)
    (path.parent / "w.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(SerenityError, match="outside the model's folder"):
        load_model(path)


def test_a_huge_shape_does_not_allocate(tmp_path: Path) -> None:
    path = with_external(tmp_path, {"location": "w.bin"})
    proto = onnx.load(path, load_external_data=False)
    proto.graph.initializer[0].dims[:] = [2**40, 2**20]
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(SerenityError, match="too short"):
        load_model(path)


def many_weights() -> onnx.ModelProto:
    """Weights of every place that can hold one: initialiser, Constant, subgraph, model-local function."""
    constant = helper.make_node("Constant", [], ["c"], value=weight("", W + 1))
    branch = helper.make_graph(
        [helper.make_node("Add", ["t", "inner"], ["b"])],
        "branch",
        [],
        [value("b", [64, 64])],
        [weight("inner", W + 2)],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["t"], ["e"])], "other", [], [value("e", [64, 64])]
    )
    function = helper.make_function(
        "mine",
        "Shift",
        ["a"],
        ["r"],
        [
            helper.make_node("Constant", [], ["k"], value=weight("", W + 3)),
            helper.make_node("Add", ["a", "k"], ["r"]),
        ],
        [helper.make_opsetid("", 12)],
    )
    return model(
        [
            constant,
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Add", ["m", "c"], ["t"]),
            helper.make_node("If", ["p"], ["i"], then_branch=branch, else_branch=other),
            helper.make_node("Shift", ["i"], ["y"], domain="mine"),
        ],
        [value("x", [64, 64]), value("p", [], TensorProto.BOOL)],
        [value("y", [64, 64])],
        [weight("w", W)],
        opset=12,
        opset_imports=[helper.make_opsetid("", 12), helper.make_opsetid("mine", 1)],
        functions=[function],
    )


@pytest.mark.parametrize("hold_from", [1, 4096, 2**40])
def test_where_weights_wait_makes_no_difference(tmp_path: Path, hold_from: int) -> None:
    """What a model above 2 GB goes through, at a size that onnxruntime takes from memory."""
    proto = many_weights()
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    ready, notes = prepare_onnx(copy, tmp_path, hold_from)
    assert not notes
    onnx.checker.check_model(ready)
    for truth in (True, False):
        inputs = {"x": W, "p": np.array(truth)}
        assert same(run(ready, inputs), run(proto, inputs))


def test_external_weights_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(many_weights(), path, save_as_external_data=True, size_threshold=0, convert_attribute=True)
    assert path.stat().st_size < W.nbytes
    source = load_model(path)
    inputs = random_inputs(source) | {"p": np.array(True)}
    assert same(run(prepared(source), inputs), run(many_weights(), inputs))


@pytest.mark.skipif(
    "SERENITY_LARGE_TESTS" not in os.environ, reason="takes 5 GB of memory: set SERENITY_LARGE_TESTS=1"
)
def test_more_than_two_gigabytes(tmp_path: Path) -> None:
    side, count = 12288, 4
    size = side * side * 4
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(size * count)  # sparse: zeros that take no room on disk
    nodes, weights = [], []
    for index in range(count):
        nodes.append(helper.make_node("MatMul", [f"v{index}", f"w{index}"], [f"v{index + 1}"]))
        tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[side, side])
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in (("location", "w.bin"), ("offset", str(size * index)), ("length", str(size))):
            tensor.external_data.add(key=key, value=text)
        weights.append(tensor)
    proto = model(nodes, [value("v0", [1, side])], [value(f"v{count}", [1, side])], weights, opset=9)
    source = load(proto, tmp_path)
    assert source.inputs[0].name == "v0"
    assert opset_of(prepared(source)) == 21
    assert sum(len(tensor.raw_data) for tensor in prepared(source).graph.initializer) == size * count > 2**31
    module = import_onnx(source, Session().context)
    assert module.verify()
