"""Models of older opsets: upgraded without a change of results, or with a word about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, version_converter
from small_models import IO, X, load, model, one_node, prepared, refusal, run, same, value, weight

from serenity_mlir.pipelines.importing.clean_graph import opset_of


@pytest.mark.parametrize(("opset", "expected"), [(8, 21), (17, 21), (20, 21), (21, 21), (22, 22)])
def test_older_models_are_upgraded_newer_ones_kept(tmp_path: Path, opset: int, expected: int) -> None:
    source = load(one_node("Relu", {"x": X}, opset=opset), tmp_path)
    assert opset_of(prepared(source)) == expected
    assert source.notes == ()


def test_both_spellings_of_the_standard_domain(tmp_path: Path) -> None:
    proto = one_node("Relu", {"x": X})
    proto.graph.node[0].domain = "ai.onnx"
    proto.opset_import[0].domain = "ai.onnx"
    assert same(run(prepared(load(proto, tmp_path)), {"x": X}), [np.maximum(X, 0)])
    proto.opset_import.add(domain="", version=12)
    assert "two opset versions" in refusal(proto, tmp_path).message


def test_nodes_that_the_converter_replaces_keep_their_names(tmp_path: Path) -> None:
    proto = one_node("Upsample", {"x": X}, [weight("s", [1, 1, 2, 2])], opset=9, name="bigger")
    (resize,) = (node for node in prepared(load(proto, tmp_path)).graph.node if node.op_type == "Resize")
    assert resize.name == "bigger"


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("op", "opset"), [("Upsample", 7), ("Upsample", 9), ("Resize", 10)])
def test_resizing_samples_where_it_used_to(tmp_path: Path, op: str, opset: int, mode: str) -> None:
    scales = np.array([1, 1, 1.7, 1.5], np.float32)
    if opset < 9:
        proto = one_node(op, {"x": X}, opset=opset, mode=mode, scales=scales.tolist())
    else:
        proto = one_node(op, {"x": X}, [weight("s", scales)], opset=opset, mode=mode)
    assert same(run(prepared(load(proto, tmp_path)), {"x": X}), run(proto, {"x": X}))


@pytest.mark.parametrize(("op", "opset"), [("Hardmax", 11), ("PRelu", 6)])
def test_what_the_converter_gets_wrong_is_refused(tmp_path: Path, op: str, opset: int) -> None:
    weights = [weight("slope", [0.1, 0.2, 0.3])] if op == "PRelu" else []
    error = refusal(one_node(op, {"x": X}, weights, opset=opset), tmp_path)
    assert error.where == f"node '{op}_0' ({op})"
    assert "cannot be converted" in error.message


def test_a_failing_converter_is_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    convert = version_converter.convert_version

    def failing(limit: int) -> Callable[[onnx.ModelProto, int], onnx.ModelProto]:
        def convert_version(proto: onnx.ModelProto, target: int) -> onnx.ModelProto:
            if target > limit:
                raise RuntimeError(f"no adapter\nfor {target}")
            return convert(proto, target)

        return convert_version

    monkeypatch.setattr(version_converter, "convert_version", failing(18))
    source = load(one_node("Relu", {"x": X}, opset=8), tmp_path)
    assert opset_of(prepared(source)) == 18
    (note,) = source.notes
    assert (
        note.message
        == "converted from opset 8 to 18: ONNX's converter failed on opset 21 (no adapter for 21)"
    )
    monkeypatch.setattr(version_converter, "convert_version", failing(0))
    source = load(one_node("Relu", {"x": X}, opset=8), tmp_path)
    assert opset_of(prepared(source)) == 8
    assert source.notes[0].message.startswith("left at opset 8: ")


def all_old_operators() -> dict[str, tuple[onnx.ModelProto, dict[str, npt.NDArray[Any]]]]:
    """Operators whose meaning or spelling changed between opsets, in their older form."""
    x = {"x": X}
    per_channel = [weight(name, [0.5, 1.0, 1.5]) for name in ("g", "b", "m", "v")]
    sequence = {"x": np.random.default_rng(3).normal(size=(5, 2, 3)).astype(np.float32)}
    spaced = {"x": np.random.default_rng(4).normal(size=(1, 8, 2, 3)).astype(np.float32)}
    made: dict[str, tuple[onnx.ModelProto, dict[str, npt.NDArray[Any]]]] = {}
    for op in ("Softmax", "LogSoftmax"):
        for axis in (1, 2, 3):
            made[f"{op}11 axis {axis}"] = one_node(op, x, opset=11, axis=axis), x
    for op in ("Mean", "Max", "Min", "Sum", "Prod", "L1", "L2", "LogSumExp", "SumSquare"):
        made[f"Reduce{op}11"] = one_node(f"Reduce{op}", x, opset=11, axes=[1, 3], keepdims=0), x
    simple: list[tuple[str, int, dict[str, Any]]] = [
        ("Slice", 9, {"axes": [2, 3], "starts": [1, -4], "ends": [5, 99]}),
        ("Unsqueeze", 11, {"axes": [0, 5]}),
        ("Clip", 6, {"min": -0.5, "max": 0.5}),
        ("Clip", 6, {"min": -0.5}),
        ("Dropout", 7, {"ratio": 0.3}),
        ("Pad", 9, {"pads": [0, 0, 1, 2, 0, 0, 3, 1], "mode": "edge"}),
        ("MaxPool", 8, {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("AveragePool", 7, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
        ("LpPool", 11, {"kernel_shape": [3, 3], "p": 2}),
        ("Flatten", 9, {"axis": 2}),
        ("LRN", 7, {"size": 3}),
        ("ThresholdedRelu", 10, {"alpha": 0.2}),
        ("MeanVarianceNormalization", 9, {"axes": [0, 2, 3]}),
    ]
    for op, opset, attributes in simple:
        made[f"{op}{opset} {attributes}"] = one_node(op, x, opset=opset, **attributes), x
    made["BatchNormalization7"] = one_node("BatchNormalization", x, per_channel, opset=7), x
    made["BatchNormalization9"] = one_node("BatchNormalization", x, per_channel, opset=9), x
    made["PRelu7"] = one_node("PRelu", x, [weight("s", np.ones((3, 1, 1)))], opset=7), x
    made["TopK10"] = one_node("TopK", x, [weight("k", [3], np.int64)], opset=10, results=2), x
    made["TopK10"][0].graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    made["DepthToSpace11"] = one_node("DepthToSpace", spaced, opset=11, blocksize=2), spaced
    for op, gates in (("LSTM", 4), ("GRU", 3)):
        weights = [weight("w", np.full((1, gates * 4, 3), 0.1)), weight("r", np.full((1, gates * 4, 4), 0.2))]
        made[f"{op}7"] = one_node(op, sequence, weights, opset=7, hidden_size=4), sequence
    split = helper.make_node("Split", ["x"], ["y", "z"], axis=3, split=[3, 5])
    made["Split11"] = model([split], IO[0], [value("y", None), value("z", None)], opset=11), x
    made["QuantizeLinear10"] = (
        one_node(
            "QuantizeLinear",
            x,
            [weight("s", 0.02), weight("z", 128, np.uint8)],
            opset=10,
            element=TensorProto.UINT8,
        ),
        x,
    )
    return made


OLD = all_old_operators()


@pytest.mark.parametrize("name", OLD)
def test_upgrading_changes_no_result(tmp_path: Path, name: str) -> None:
    proto, inputs = OLD[name]
    source = load(proto, tmp_path)
    assert opset_of(prepared(source)) == 21
    assert same(run(prepared(source), inputs), run(proto, inputs))
