"""Identity rewriting of topologies: known optima, the same results, independent figures for SwiftNet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations
from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.bench.networks import darts_normal_cell
from serenity_mlir.pipelines.bench.rewriting import Rewritten, rewrite, split
from serenity_mlir.pipelines.bench.topology import Topology, read_topology
from serenity_mlir.schedulers import schedule

MAP = 4 * 48 * 28 * 28


def best(net: Topology, *, chained: bool = False) -> Rewritten:
    found = rewrite(net, schedule(net.memory_graph()), time_limit=10, chained=chained)
    assert found.schedule.optimal
    return found


def least(net: Topology) -> int:
    found = schedule(net.memory_graph())
    assert found.optimal
    return found.peak


def branches(*, of: int = 4) -> tuple[Topology, str]:
    """Four branches of four bytes and their concatenation."""
    net = Topology({"x": 1})
    return net, net.add("Concat", 4 * of, *(net.add("Conv", 4, "x") for _ in range(of)))


@pytest.mark.parametrize(
    ("name", "before", "chained", "any_order"),
    [
        ("A", 275_968, 200_704, 188_160),
        ("B", 122_304, 62_720, 53_312),
        ("C", 53_900, 23_128, 16_856),
        ("full", 275_968, 200_704, 200_704),
    ],
)
def test_swiftnet(shared: Path, name: str, before: int, chained: int, any_order: int) -> None:
    """Against an independent exact search (`../shared/models/README.md`).

    Its figures are those of partial convolutions that add up in the order of the concatenation, with
    the readers of the partial depthwise convolutions' results split, too. Any order takes less.
    """
    net = read_topology(shared / "data" / "swiftnet_cells" / f"swift_{name}.onnx")
    everything = [layer.name for layer in net.layers]
    assert least(net) == before
    assert least(split(net, everything, chained=True)[0]) == chained
    assert best(net, chained=True).schedule.peak == chained
    assert best(net).schedule.peak == any_order


def test_what_is_depthwise_in_swiftnet(shared: Path) -> None:
    """The cells' files lack groups; the model that they are read off has them."""
    net = read_topology(shared / "data" / "swiftnet_cells" / "swift_full.onnx")
    sizes = net.sizes()
    concats = {layer.name for layer in net.layers if layer.kind == "Concat"}
    read = Counter(
        (sizes[layer.inputs[0]], layer.size, layer.kind == "DepthwiseConv")
        for layer in net.layers
        if layer.inputs[0] in concats and layer.kind != "Concat"
    )
    model = onnx.load(shared / "models" / "tfl_swiftnet_vwwc224_uint8.onnx")
    graph = onnx.shape_inference.infer_shapes(model).graph
    maps = {item.name: item.type.tensor_type.shape.dim for item in graph.value_info}
    makers = {name: node for node in graph.node for name in node.output}

    def size(name: str) -> int:
        _, channels, height, width = (dim.dim_value for dim in maps[name])
        return int(channels * height * width)

    stated: Counter[tuple[int, int, bool]] = Counter()
    for node in graph.node:
        maker = makers.get(node.input[0])
        while maker is not None and "quantize" in maker.op_type.lower():
            maker = makers.get(maker.input[0])
        if node.op_type == "Conv" and maker is not None and maker.op_type == "Concat":
            (group,) = (item.i for item in node.attribute if item.name == "group")
            stated[size(node.input[0]), size(node.output[0]), group > 1] += 1
    assert read == stated
    assert sum(count for (_, _, depthwise), count in read.items() if depthwise) == 4


def test_darts() -> None:
    """The paper states 753 KB after rewriting, as far as we recall."""
    net = darts_normal_cell()
    assert best(net).schedule.peak == 5 * MAP
    assert best(net, chained=True).schedule.peak == 6 * MAP


@pytest.mark.parametrize("between", [(), ("Relu",), ("DepthwiseConv",), ("QuantizeLinear", "Clip")])
@pytest.mark.parametrize("chained", [False, True])
def test_a_convolution_of_a_concatenation(between: tuple[str, ...], chained: bool) -> None:
    net, x = branches()
    names = []
    for kind in between:
        names.append(x := net.add(kind, 16, x))
    net.outputs = (net.add("Conv", 4, x),)
    assert least(net) == 32  # the concatenation and what it copies, or its element-wise copy
    found = best(net, chained=chained)
    assert found.split == (*names, *net.outputs)
    # One branch at a time, beside x and the sum, and beside its own result where something is between.
    assert found.schedule.peak == (13 if between else 9)
    assert "Concat" not in {layer.kind for layer in found.topology.layers}


def test_any_order_can_take_less_than_the_order_of_the_concatenation() -> None:
    net = Topology({"x": 1})
    early = net.add("Conv", 10, "x")
    late = net.add("Conv", 10, net.add("Conv", 1, early))
    net.outputs = (net.add("Conv", 1, net.add("Concat", 20, late, early)),)
    assert best(net).schedule.peak == 12  # the early part is added at once, and gone
    assert best(net, chained=True).schedule.peak == 21


def test_chained_parts_add_up_one_after_the_other() -> None:
    net, x = branches(of=3)
    net.outputs = (net.add("Softmax", 2, net.add("Conv", 2, x)),)
    for chained, orders in ((True, 1), (False, 6)):
        graph = split(net, ["Conv_4"], chained=chained)[0].memory_graph()
        parts = [index for index, op in enumerate(graph.ops) if op.updates]
        assert parts == [3, 4, 5]  # between the branches and who reads the sum
        legal = [order for order in permutations(parts) if graph.is_legal((0, 1, 2, *order, 6))]
        assert len(legal) == orders
        # The sum is one buffer, and who reads it waits for all parts.
        assert len({graph.ops[index].touches[0] for index in parts}) == 1
        assert graph.preds[6] == (3, 4, 5)


def test_a_concatenation_of_several_readers_pays_only_if_all_are_split() -> None:
    net, x = branches()
    readers = [net.add("Conv", 4, x), net.add("Conv", 4, x)]
    net.outputs = (net.add("Add", 4, *readers),)
    for one in readers:
        assert least(split(net, [one])[0]) >= least(net)
    found = best(net)
    assert found.split == tuple(readers)
    assert found.schedule.peak == 13


def test_a_concatenation_that_is_needed_whole_stays() -> None:
    net, x = branches()
    net.outputs = (net.add("Add", 4, net.add("Conv", 4, x), net.add("Softmax", 4, x)),)
    found = best(net)
    assert found.split == ()
    assert found.topology == net
    net.outputs = ("Concat_4", *net.outputs)
    changed, _ = split(net, ["Conv_5"])
    assert sum(layer.kind == "Concat" for layer in changed.layers) == 1


def test_concatenations_of_concatenations() -> None:
    net = Topology({"x": 1})
    inner = net.add("Concat", 8, *(net.add("Conv", 4, "x") for _ in range(2)))
    outer = net.add("Concat", 16, inner, *(net.add("Conv", 4, "x") for _ in range(2)))
    net.outputs = (net.add("Conv", 4, outer),)
    found = best(net)
    assert found.split == (outer, *net.outputs)
    assert found.schedule.peak == 9
    assert best(Topology(net.inputs, net.layers, (*net.outputs, inner))).schedule.peak > 9


def test_a_repeated_part_is_read_each_time() -> None:
    net = Topology({"x": 4})
    net.outputs = (net.add("Conv", 1, net.add("DepthwiseConv", 8, net.add("Concat", 8, "x", "x"))),)
    found = best(net)
    assert [layer.kind for layer in found.topology.layers] == ["DepthwiseConv"] * 2 + ["PartialConv"] * 2
    assert len({layer.name for layer in found.topology.layers}) == 4
    assert found.schedule.peak == 9


@pytest.mark.parametrize(("whole", "made"), [(16, 16), (8, 3)], ids=["constant part", "fractions of bytes"])
def test_parts_that_are_not_known_are_left_alone(whole: int, made: int) -> None:
    net = Topology({"x": 4, "y": 4})
    net.outputs = (net.add("Relu", made, net.add("Concat", whole, "x", "y")),)
    assert split(net, ["Relu_1"]) == (net, ())


def test_a_concatenation_that_nobody_read_before_stays() -> None:
    net, x = branches()
    unread = net.add("Concat", 16, x)
    net.outputs = (net.add("Conv", 4, x),)
    assert unread in {layer.name for layer in split(net, net.outputs)[0].layers}


KINDS = ("Conv", "Conv", "DepthwiseConv", "Relu", "Concat", "Concat", "Add", "Softmax")


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Layers of every kind over what was made last, nested and shared concatenations among them."""
    net = Topology({"x": draw(st.integers(1, 4)), "y": draw(st.integers(1, 4))})
    for _ in range(draw(st.integers(2, 9))):
        sizes = net.sizes()
        kind = draw(st.sampled_from(KINDS))
        count = {"Concat": draw(st.integers(1, 3)), "Add": 2}.get(kind, 1)
        inputs = draw(st.lists(st.sampled_from([*sizes][-4:]), min_size=count, max_size=count))
        size = {
            "Conv": draw(st.integers(1, 4)),
            "DepthwiseConv": draw(st.integers(1, 2)) * sizes[inputs[0]],
            "Concat": sum(sizes[name] for name in inputs),
        }.get(kind, sizes[inputs[0]])
        net.add(kind, size, *inputs)
    read = {name for layer in net.layers for name in layer.inputs}
    also = draw(st.sets(st.sampled_from([layer.name for layer in net.layers]), max_size=1))
    net.outputs = tuple({layer.name for layer in net.layers if layer.name not in read} | also)
    return net


def results(net: Topology, order: Iterable[int]) -> dict[str, Sequence[int]]:
    """What the network returns, a number a byte, if its layers run in this order.

    A convolution is told by its name and what it sums up, in any order; each other layer by its name
    and what it makes of each channel.
    """
    made: dict[str, Sequence[int]] = {
        name: [hash((name, index)) for index in range(size)] for name, size in net.inputs.items()
    }
    for index in order:
        layer = net.layers[index]
        who = layer.name.split(" of ")[0]
        first, *others = (made[name] for name in layer.inputs if name != layer.into)
        if layer.kind == "Concat":
            made[layer.name] = [*first, *(item for other in others for item in other)]
        elif layer.kind in {"Conv", "PartialConv"}:
            part = sum(hash((who, item)) for item in first)
            made[layer.makes] = [value + part for value in made.get(layer.makes, [0] * layer.size)]
        elif layer.kind == "Softmax":
            made[layer.name] = [hash((who, *first))] * layer.size
        else:
            repeat = range(layer.size // len(first))
            made[layer.name] = [
                hash((who, item, *map(hash, map(tuple, others)), i)) for item in first for i in repeat
            ]
    return {name: made[name] for name in net.outputs}


@given(topologies(), st.data())
def test_results_stay(net: Topology, data: st.DataObject) -> None:
    """Whatever is split, in whatever legal order it runs, sums that are read too early included."""
    names = data.draw(st.sets(st.sampled_from([layer.name for layer in net.layers])))
    changed, done = split(net, names, chained=data.draw(st.booleans()))
    assert set(done) <= names
    graph = changed.memory_graph()
    waiting, order = set(graph.file_order), list[int]()
    while waiting:
        ready = sorted(op for op in waiting if waiting.isdisjoint(graph.preds[op]))
        order.append(data.draw(st.sampled_from(ready)))
        waiting.remove(order[-1])
    before = results(net, range(len(net.layers)))
    assert results(changed, order) == before
    assert {name: changed.sizes()[name] for name in net.outputs} == {
        name: len(value) for name, value in before.items()
    }


@given(topologies(), st.booleans())
def test_the_choice(net: Topology, chained: bool) -> None:
    """Never worse than nothing or everything, and the best of all choices where there are few."""
    everything, sites = split(net, [layer.name for layer in net.layers], chained=chained)
    found = best(net, chained=chained)
    assert found.schedule.peak <= min(least(net), least(everything))
    assert found.schedule.peak == peak(found.topology.memory_graph(), found.schedule.order)
    if len(sites) <= 4:
        subsets = (names for count in range(len(sites) + 1) for names in combinations(sites, count))
        assert found.schedule.peak == min(least(split(net, names, chained=chained)[0]) for names in subsets)
    if not chained:
        assert least(everything) <= least(split(net, sites, chained=True)[0])
