"""The paper's cells as memory graphs: their layers, their sizes, and what is known of their peaks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import onnx
import pytest
from onnx import TensorProto, helper

from serenity_mlir.errors import SerenityError
from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.bench.networks import darts_normal_cell, randwire_stage
from serenity_mlir.pipelines.bench.topology import Layer, Topology, read_topology
from serenity_mlir.schedulers import schedule

MAP = 4 * 48 * 28 * 28
CONCAT = [helper.make_node("Concat", ["x", "x"], ["c"])]


def test_darts() -> None:
    net = darts_normal_cell()
    kinds = Counter(layer.kind for layer in net.layers)
    # Five separable convolutions of five ops and a dilated one of three; eight edges into four nodes.
    assert kinds == {"Relu": 6, "DepthwiseConv": 11, "Conv": 12, "Add": 4, "Concat": 1}
    assert {layer.size for layer in net.layers} == {MAP, 4 * MAP}
    graph = net.memory_graph()
    assert len(graph.buffers) == len(graph.ops) + 2
    found = schedule(graph)
    assert found.optimal
    assert found.peak == 8 * MAP  # the concatenation and what it copies


def test_a_stage_of_randwire() -> None:
    nodes, full = 12, 4 * 8 * 6 * 6
    net = randwire_stage(nodes, channels=8, size=6, seed=3)
    wiring = nx.connected_watts_strogatz_graph(nodes, 4, 0.75, seed=3)
    sources = [node for node in range(nodes) if all(other > node for other in wiring[node])]
    sinks = [node for node in range(nodes) if all(other < node for other in wiring[node])]
    assert len(net.layers) == 3 * nodes + 1
    assert Counter(layer.size for layer in net.layers) == {
        full: 3 * nodes + 1 - 2 * len(sources),
        2 * full: len(sources),  # the ReLU of the larger map
        full // 2: len(sources),
    }
    assert len(net.layers[-1].inputs) == len(sinks)
    sums = [layer for layer in net.layers[:-1] if layer.kind == "WeightedSum"]
    assert sum(len(layer.inputs) for layer in sums) == wiring.number_of_edges()
    graph = net.memory_graph()
    assert graph.is_legal(graph.file_order)
    assert [buffer.live_in for buffer in graph.buffers].count(True) == 1
    assert [buffer.name for buffer in graph.buffers if buffer.live_out] == [net.layers[-1].name]


@pytest.mark.parametrize(
    ("name", "ops", "file_order", "least"),
    [
        ("A", 28, 351_232, 275_968),
        ("B", 23, 147_392, 122_304),
        ("C", 24, 53_900, 53_900),
        ("full", 84, 351_232, 275_968),
    ],
)
def test_optima_of_swiftnet(shared: Path, name: str, ops: int, file_order: int, least: int) -> None:
    """Against an independent exact search (`../shared/models/README.md`)."""
    graph = read_topology(shared / "data" / "swiftnet_cells" / f"swift_{name}.onnx").memory_graph()
    found = schedule(graph)
    assert len(graph.ops) == ops
    assert peak(graph, graph.file_order) == file_order
    assert found.peak == found.lower_bound == least


def small(path: Path, *nodes: onnx.NodeProto, sizes: dict[str, list[int | str]]) -> Path:
    """A model that reads x, has the weight w, and makes y."""
    infos = {
        name: helper.make_tensor_value_info(name, TensorProto.UINT8, dims) for name, dims in sizes.items()
    }
    graph = helper.make_graph(
        list(nodes),
        "g",
        [infos.pop("x")],
        [infos.pop("y")],
        [helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])],
        value_info=list(infos.values()),
    )
    onnx.save(helper.make_model(graph), path)
    return path


def test_weights_cost_nothing_and_repetition_does_not_count(tmp_path: Path) -> None:
    path = small(
        tmp_path / "m.onnx",
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "a"], ["y"]),
        sizes={"x": [2, 5], "a": [7], "y": [3]},
    )
    graph = read_topology(path).memory_graph()
    assert [(buffer.name, buffer.size) for buffer in graph.buffers] == [("x", 10), ("a", 7), ("y", 3)]
    assert [sorted(op.touches) for op in graph.ops] == [[0, 1], [1, 2]]
    assert graph.preds == ((), (0,))


@pytest.mark.parametrize(
    ("kind", "nodes"),
    [
        ("Conv", [helper.make_node("Conv", ["x", "w"], ["y"])]),
        ("Conv", [helper.make_node("Conv", ["x", "w"], ["y"], group=1)]),
        ("DepthwiseConv", [helper.make_node("Conv", ["x", "w"], ["y"], group=4)]),
        ("GeneralConv", [helper.make_node("Conv", ["x", "w"], ["y"], group=2)]),
        ("GeneralConv", [helper.make_node("Conv", ["x", "x"], ["y"])]),
        ("GeneralConv", [helper.make_node("Conv", ["w", "x"], ["y"])]),
        ("Concat", [helper.make_node("Concat", ["x", "x"], ["y"])]),
        ("Concat", [helper.make_node("Concat", ["x", "x"], ["y"], axis=1)]),
        ("Concat", [helper.make_node("Concat", ["x", "x"], ["y"], axis=-3)]),
        ("GeneralConcat", [helper.make_node("Concat", ["x", "x"], ["y"], axis=3)]),
        ("GeneralConcat", [helper.make_node("Concat", ["x", "x"], ["y"], axis=-1)]),
        ("DepthwiseConv", [*CONCAT, helper.make_node("Conv", ["c"], ["y"])]),  # without weights
        ("Conv", [*CONCAT, helper.make_node("Conv", ["c", "w"], ["y"])]),
        ("Conv", [helper.make_node("Conv", ["x"], ["c"]), helper.make_node("Conv", ["c"], ["y"])]),
    ],
)
def test_kinds(kind: str, nodes: list[onnx.NodeProto], tmp_path: Path) -> None:
    """What rewriting may take for granted: no groups but one a channel, and the axis."""
    shape: list[int | str] = [1, 4, 5, 5]
    found = read_topology(small(tmp_path / "m.onnx", *nodes, sizes=dict.fromkeys("xcy", shape)))
    assert found.layers[-1].kind == kind


def test_sums_in_place() -> None:
    net = Topology({"x": 5})
    net.layers = [
        Layer("a", "PartialConv", ("x",), 3, into="sum"),
        Layer("b", "PartialConv", ("x",), 3, into="sum"),
        Layer("c", "PartialConv", ("x", "sum"), 3, into="sum"),
        Layer("y", "Relu", ("sum",), 3),
    ]
    graph = net.memory_graph()
    assert [buffer.size for buffer in graph.buffers] == [5, 3, 3]
    assert graph.preds == ((), (), (0, 1), (0, 1, 2))
    assert [op.updates for op in graph.ops] == [{1}, {1}, {1}, set()]
    assert [set(op.touches) for op in graph.ops] == [{0, 1}, {0, 1}, {0, 1}, {1, 2}]


@pytest.mark.parametrize(
    ("nodes", "sizes", "said"),
    [
        ([helper.make_node("Relu", ["x"], ["y"])], {"x": [1], "y": ["n"]}, "'y' has no constant size"),
        ([helper.make_node("Relu", ["b"], ["y"])], {"x": [1], "y": [1]}, "no earlier node makes"),
        ([helper.make_node("Relu", ["x"], ["b"])], {"x": [1], "y": [1]}, "'b' has no constant size"),
        ([helper.make_node("Split", ["x"], ["y", "z"])], {"x": [1], "y": [1]}, "several outputs"),
    ],
)
def test_refusals(
    nodes: list[onnx.NodeProto], sizes: dict[str, list[int | str]], said: str, tmp_path: Path
) -> None:
    with pytest.raises(SerenityError, match=said):
        read_topology(small(tmp_path / "m.onnx", *nodes, sizes=sizes))


@pytest.mark.parametrize("content", [b"no model", None])
def test_files_that_are_no_models(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SerenityError, match=r"m\.onnx"):
        read_topology(path)
