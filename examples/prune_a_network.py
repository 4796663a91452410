"""Budgets on multiply-accumulates, memory and RAM, held all at once, from Python.

    python examples/prune_a_network.py [--method pi|magnitude|random]

The network is made and fitted here, in a moment: random filters, then a dense layer that least squares
fits to noisy pictures of ten kinds. What is printed is measured on other pictures.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from serenity_mlir.pipelines.reform.engine import engine
from serenity_mlir.pipelines.reform.prune import PruneOptions, prune
from serenity_mlir.reform.budgets import Amount, Kind, shown

SIZE, FILTERS, KINDS = 12, 24, 10
SEED = 2019


def pictures(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy copies of ten pictures, and which each is of."""
    kinds = np.random.default_rng(SEED).standard_normal((KINDS, 1, SIZE, SIZE))
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, KINDS, count)
    noise = generator.standard_normal((count, 1, SIZE, SIZE))
    return (kinds[labels] + noise).astype(np.float32), labels


def network(dense: np.ndarray, bias: np.ndarray) -> onnx.ModelProto:
    """Two convolutions with random filters, a pool after each, and a dense layer."""
    generator = np.random.default_rng(SEED)
    filters = {
        "first": generator.standard_normal((FILTERS, 1, 3, 3)) / 3,
        "second": generator.standard_normal((FILTERS, FILTERS, 3, 3)) / (3 * FILTERS**0.5),
        "dense": dense,
        "bias": bias,
    }
    pool: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        helper.make_node("Conv", ["x", "first"], ["a"], name="conv1", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], name="relu1"),
        helper.make_node("MaxPool", ["b"], ["c"], name="pool1", **pool),
        helper.make_node("Conv", ["c", "second"], ["d"], name="conv2", pads=[1] * 4),
        helper.make_node("Relu", ["d"], ["e"], name="relu2"),
        helper.make_node("MaxPool", ["e"], ["f"], name="pool2", **pool),
        helper.make_node("Flatten", ["f"], ["features"], name="flatten"),
        helper.make_node("Gemm", ["features", "dense", "bias"], ["y"], name="dense"),
    ]
    graph = helper.make_graph(
        nodes,
        "example",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, SIZE, SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, KINDS])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in filters.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def outputs(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    """What a network says of pictures, one after another."""
    run = engine(model)
    return np.concatenate([run({"x": picture[None]})[0] for picture in x])


def fitted(x: np.ndarray, labels: np.ndarray) -> onnx.ModelProto:
    """The network with its dense layer fitted by least squares."""
    features = FILTERS * (SIZE // 4) ** 2
    bare = network(np.eye(features, KINDS), np.zeros(KINDS))
    bare.graph.output[0].CopyFrom(helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, features]))
    del bare.graph.node[-1]
    known = np.column_stack([outputs(bare, x), np.ones(len(x))])
    normal = known.T @ known + np.eye(features + 1)
    solution = np.linalg.solve(normal, known.T @ np.eye(KINDS)[labels])
    return network(solution[:-1], solution[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", choices=["pi", "magnitude", "random"], default="pi")
    method = parser.parse_args().method
    x, labels = pictures(1500, seed=1)
    model = fitted(x, labels)
    with tempfile.TemporaryDirectory() as folder:
        path, data = Path(folder, "model.onnx"), Path(folder, "calibration.npz")
        onnx.save(model, path)
        np.savez(data, x=x[:300], labels=labels[:300])
        budgets: dict[Kind, Amount] = {
            "macs": Amount(0.7, relative=True),
            "memory": Amount(0.7, relative=True),
            "ram": Amount(0.8, relative=True),
        }
        result = prune(path, data, [budgets], PruneOptions(method=method))
    (variant,) = result.report.variants
    for kind, limit in variant.budgets.items():
        print(f"{kind}: {shown(kind, getattr(variant.figures, kind))}, budget {shown(kind, limit)}")
    new, kinds = pictures(1000, seed=2)
    for name, item in (("unpruned", model), ("pruned", result.variants[0].model)):
        print(f"{name}: {(outputs(item, new).argmax(axis=1) == kinds).mean():.1%} of new pictures right")


if __name__ == "__main__":
    main()
