"""Which channels belong together, and which must stay, on networks where the answer is known."""

from __future__ import annotations

import numpy as np
import onnx
from channel_networks import Builder

from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.groups import ChannelGroup, channel_groups, gates_of

IMAGE = {"x": (1, 3, 8, 8)}


def groups(model: onnx.ModelProto) -> dict[tuple[str, ...], ChannelGroup]:
    """By their sources."""
    return {group.sources: group for group in channel_groups(network_of(model))}


def member(group: ChannelGroup, tensor: str, axis: int) -> list[int]:
    (found,) = [item for item in group.members if (item.tensor, item.axis) == (tensor, axis)]
    return [int(channel) for channel in found.channels]


def test_a_residual_sum_ties_what_it_adds() -> None:
    build = Builder()
    first = build.conv("x", 3, 4)
    second = build.conv(build.op("Relu", first), 4, 4)
    last = build.conv(build.op("Add", first, second), 4, 2)
    found = groups(build.model(IMAGE, last))
    assert found[first, second].prunable
    assert found[first, second].size == 4
    assert found[last,].barriers == (f"'{last}' is an output of the network",)


def test_depthwise_channels_leave_with_the_one_they_read() -> None:
    build = Builder()
    wide = build.conv("x", 3, 4)
    depth = build.conv(wide, 4, 8, group=4)
    last = build.conv(depth, 8, 2)
    found = groups(build.model(IMAGE, last))
    assert found[wide, depth].size == 4
    assert member(found[wide, depth], depth, 1) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_groups_of_a_convolution_stay_equal() -> None:
    build = Builder()
    wide = build.conv("x", 3, 8)
    grouped = build.conv(wide, 8, 6, group=2)
    last = build.conv(grouped, 6, 2)
    found = groups(build.model(IMAGE, last))
    assert member(found[wide,], wide, 1) == [0, 1, 2, 3, 0, 1, 2, 3]
    assert member(found[grouped,], grouped, 1) == [0, 1, 2, 0, 1, 2]


def test_a_shuffle_moves_channels_to_where_it_moves_them() -> None:
    build = Builder()
    grouped = build.conv(build.conv("x", 3, 6), 6, 6, group=2)
    shuffled = build.shuffle(grouped, 6, 2, 8)
    last = build.conv(shuffled, 6, 2)
    found = groups(build.model(IMAGE, last))
    assert found[grouped,].size == 3
    assert member(found[grouped,], shuffled, 1) == [0, 0, 1, 1, 2, 2]


def test_a_concat_of_a_repeated_operand_ties_both_places() -> None:
    build = Builder()
    one, two = build.conv("x", 3, 2), build.conv("x", 3, 3)
    joined = build.op("Concat", one, two, one, axis=1)
    last = build.conv(joined, 7, 2)
    found = groups(build.model(IMAGE, last))
    assert member(found[one,], joined, 1) == [0, 1, -1, -1, -1, 0, 1]
    assert member(found[two,], joined, 1) == [-1, -1, 0, 1, 2, -1, -1]


def test_flatten_spreads_a_channel_over_its_positions_in_either_layout() -> None:
    build = Builder()
    wide = build.conv("x", 3, 4)
    planar = build.gemm(build.op("Flatten", wide), 256, 2)
    last = build.op("Flatten", build.op("Transpose", wide, perm=[0, 2, 3, 1]))
    found = groups(build.model(IMAGE, planar, build.gemm(last, 256, 2)))
    assert member(found[wide,], build.nodes[1].output[0], 1) == [c for c in range(4) for _ in range(64)]
    assert member(found[wide,], last, 1) == [c for _ in range(64) for c in range(4)]


def test_squeeze_and_excite_ties_the_scale_to_what_it_scales() -> None:
    build = Builder()
    wide = build.conv("x", 3, 4)
    few = build.conv(build.op("GlobalAveragePool", wide), 4, 2, kernel=1)
    scale = build.conv(build.op("Relu", few), 2, 4, kernel=1)
    scaled = build.op("Mul", wide, build.op("Sigmoid", scale))
    last = build.conv(scaled, 4, 2)
    found = groups(build.model(IMAGE, last))
    assert found[wide, scale].prunable
    assert found[few,].prunable


def test_what_has_no_map_is_named() -> None:
    build = Builder()
    wide = build.conv("x", 3, 4)
    odd = build.op("Det", wide)
    found = groups(build.model(IMAGE, odd, build.conv(wide, 4, 2)))
    assert found[wide,].barriers == (f"node '{odd}' (Det) has no axis map",)


def test_shared_weights_tie_both_layers() -> None:
    build = Builder()
    first = build.conv("x", 3, 3)
    weight = build.nodes[0].input[1]
    again = build.op("Conv", build.op("Relu", first), weight, pads=[1] * 4)
    last = build.conv(again, 3, 2)
    found = groups(build.model(IMAGE, last))
    # The filters' inputs are the image's channels in one layer and the layer's own in the other.
    assert found[first, again].barriers == ("'x' is an input of the network",)


def test_gates_stand_behind_the_batch_normalisation() -> None:
    build = Builder()
    wide = build.conv("x", 3, 4)
    normal = build.norm(wide, 4)
    last = build.conv(build.op("Relu", normal), 4, 2)
    network = network_of(build.model(IMAGE, last))
    keep = np.array([True, False, True, True])
    gates = gates_of(network, {0: keep})
    assert gates.keys() == {normal}
    np.testing.assert_array_equal(gates[normal], keep)


def test_gates_stand_behind_scales_and_shifts_written_as_products_and_sums() -> None:
    build = Builder()
    wide, axes = build.conv("x", 3, 4), build.constant([1, 2], np.int64)
    scaled = build.op("Mul", build.norm(wide, 4), build.op("Unsqueeze", build.weight(4), axes))
    shifted = build.op("Add", build.weight(1, 4, 1, 1), scaled)
    last = build.conv(build.op("Relu", shifted), 4, 2)
    network = network_of(build.model(IMAGE, last))
    assert gates_of(network, {0: np.array([True, False, True, True])}).keys() == {shifted}
