"""What splitting is for: the slab falls, and the artefact holds the weights once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from rewriting import artefact, from_file, slab, split_all
from split_graphs import Graph

CHANNELS, SIZE, BRANCHES = 16, 32, 4
ALL = CHANNELS * BRANCHES


def cell(path: Path, *consumer: str) -> Path:
    """Four branches of 16 channels of 32x32, joined, and what consumes them."""
    graph = Graph(np.random.default_rng(0))
    branches = []
    for _ in range(BRANCHES):
        conv = graph.add("Conv", ["x", graph.weight(CHANNELS, CHANNELS, 3, 3)], pads=[1] * 4)
        branches.append(graph.add("Relu", [conv]))
    value = graph.add("Concat", branches, axis=1)
    for kind in consumer:
        if kind == "depthwise":
            weights = [graph.weight(ALL, 1, 3, 3), graph.weight(ALL)]
            value = graph.add("Conv", [value, *weights], pads=[1] * 4, group=ALL)
        else:
            value = graph.add("Conv", [value, graph.weight(CHANNELS, ALL, 1, 1), graph.weight(CHANNELS)])
    inputs = {"x": np.zeros((1, CHANNELS, SIZE, SIZE), np.float32)}
    onnx.save(graph.model(inputs, [value]), path)
    return path


@pytest.mark.parametrize("consumer", [("depthwise",), ("pointwise",), ("depthwise", "pointwise")])
def test_slab_falls(consumer: tuple[str, ...], tmp_path: Path) -> None:
    program = from_file(cell(tmp_path / "cell.onnx", *consumer))
    whole = program.fork()
    split_all(program)
    assert slab(program) <= 0.7 * slab(whole)


def test_weights_are_held_once(tmp_path: Path) -> None:
    graph = Graph(np.random.default_rng(0))
    inputs = {f"x{index}": np.zeros((1, 64, 6, 6), np.float32) for index in range(2)}
    joined = graph.add("Concat", list(inputs), axis=1)
    result = graph.add("Conv", [joined, graph.weight(128, 128, 3, 3)])
    onnx.save(graph.model(inputs, [result]), tmp_path / "wide.onnx")
    program = from_file(tmp_path / "wide.onnx")
    whole = program.fork()
    assert len(split_all(program)) == 1
    weights = 128 * 128 * 9 * 4
    before, after = len(artefact(whole)), len(artefact(program))
    assert before > weights
    assert after - before < 0.05 * weights
