"""Shape arithmetic of exporters is folded, and what it stood in the way of can be pruned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from channel_networks import Builder
from reform_harness import run

from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.pipelines.reform.fold_shapes import fold_shapes
from serenity_mlir.pipelines.reform.onnx_network import apply, load, masked, network_of
from serenity_mlir.reform.groups import channel_groups, gates_of
from serenity_mlir.reform.removal import plan_removal


def chunked(batch: int | str) -> onnx.ModelProto:
    """Halves of the channels at bounds that are computed of the shape, as torch exports chunk."""
    b = Builder()
    x = b.op("Relu", b.conv("x", 3, 8))
    axis, one, two = b.constant([1]), b.constant([1]), b.constant([2])
    size = b.op("Div", b.op("Add", b.op("Gather", b.op("Shape", x), axis, axis=0), one), two)
    first = b.op("Slice", x, b.constant([0]), b.op("Mul", size, one), axis)
    second = b.op("Slice", x, b.op("Mul", size, one), b.op("Mul", size, two), axis)
    joined = b.op("Concat", first, b.conv(second, 4, 4, kernel=1), axis=1)
    model = b.model({"x": (1, 3, 6, 6)}, b.conv(joined, 8, 5))
    model.graph.input[0].type.tensor_type.shape.dim[0].CopyFrom(
        onnx.TensorShapeProto.Dimension(dim_param=batch) if isinstance(batch, str)
        else onnx.TensorShapeProto.Dimension(dim_value=batch)
    )  # fmt: skip
    return infer_shapes(model)


def test_bounds_become_constants_even_where_the_batch_is_open() -> None:
    for batch in (1, "N"):
        model = chunked(batch)
        folded = fold_shapes(model)
        left = [node.op_type for node in folded.graph.node]
        assert left == ["Conv", "Relu", "Slice", "Slice", "Conv", "Concat", "Conv"]
        assert network_of(folded).shape("Slice_10") == (1 if batch == 1 else None, 4, 6, 6)
        x = {"x": np.random.default_rng(0).standard_normal((1, 3, 6, 6)).astype(np.float32)}
        np.testing.assert_array_equal(run(folded, x)[0], run(model, x)[0])


def test_what_it_hid_is_pruned(tmp_path: Path) -> None:
    onnx.save(chunked("N"), tmp_path / "model.onnx")
    model, network = load(tmp_path / "model.onnx")
    groups = [group for group in channel_groups(network) if group.prunable]
    assert len(groups) >= 2
    masks = {group.id: np.arange(group.size) % 2 == 0 for group in groups}
    gates = gates_of(network, masks)
    surgery = plan_removal(network, gates)
    assert surgery.refused == ()
    x = {"x": np.random.default_rng(0).standard_normal((2, 3, 6, 6)).astype(np.float32)}
    np.testing.assert_allclose(run(apply(model, surgery), x)[0], run(masked(model, gates), x)[0], atol=1e-5)


def test_results_and_weights_stay() -> None:
    b = Builder()
    shape = b.op("Shape", "x")
    weight = b.op("Add", b.weight(65), b.weight(65))
    model = b.model({"x": (1, 65)}, shape, b.op("Mul", "x", weight))
    folded = fold_shapes(model)
    assert [node.op_type for node in folded.graph.node] == ["Shape", "Add", "Mul"]
    assert folded == model
