"""Small variants keep the first channels: same results, parts of the same constants."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from channel_graphs import INPUT, networks
from channel_networks import Builder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from known_networks import KNOWN
from reform_harness import inputs_of, run

from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform.family import nest
from serenity_mlir.pipelines.reform.onnx_network import apply, network_of, rebuilt
from serenity_mlir.reform.family import Variant, pick
from serenity_mlir.reform.groups import GroupMasks, channel_groups, gates_of
from serenity_mlir.reform.nesting import nested_order, permuted
from serenity_mlir.reform.network import Network
from serenity_mlir.reform.removal import plan_removal
from serenity_mlir.reform.sharing import shared

SHARES = (0.2, 0.5, 0.8)


def family_masks(model: onnx.ModelProto, seed: int = 0) -> list[GroupMasks]:
    """Variants that lose ever larger shares of each group."""
    rng = np.random.default_rng(seed)
    groups = [group for group in channel_groups(network_of(model)) if group.prunable]
    scores = {group.id: rng.permutation(group.size) / group.size for group in groups}
    return [{number: score >= share for number, score in scores.items()} for share in SHARES]


def own_bytes(base: Network, parts: Network) -> int:
    """Bytes of constants that a variant does not share with the largest."""
    found = 0
    for name, tensor in parts.tensors.items():
        if tensor.value is not None:
            theirs = base.value(name) if name in base.tensors else None
            found += 0 if theirs is not None and np.array_equal(theirs, tensor.value) else tensor.value.nbytes
    return found


@pytest.mark.parametrize("name", KNOWN)
def test_variants_of_shared_parts_compute_what_they_compute_alone(name: str) -> None:
    model = KNOWN[name]()
    network, masks, inputs = network_of(model), family_masks(model), inputs_of(model)
    family = nest(model, masks)
    largest = family.members[0].surgery
    for member, mask in zip(family.members, masks, strict=True):
        expected = run(apply(model, plan_removal(network, gates_of(network, mask))), inputs)
        parts = shared(largest, member.surgery)
        assert own_bytes(largest.after, parts) < 2500
        for candidate in (member.model, rebuilt(model, parts)):
            for found, wanted in zip(run(candidate, inputs), expected, strict=True):
                scale = max(1.0, float(np.abs(wanted.astype(np.float64)).max(initial=0)))
                np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * scale)


def test_smaller_variants_keep_the_first_channels() -> None:
    build = Builder(1)
    wide = build.conv("x", 3, 16)
    model = build.model({"x": INPUT}, build.conv(build.op("Relu", wide), 16, 2))
    family = nest(model, family_masks(model), ["large", "medium", "small"])
    assert [member.name for member in family.members] == ["large", "medium", "small"]
    for member, left in zip(family.members, (12, 8, 3), strict=True):
        np.testing.assert_array_equal(member.surgery.kept[wide][1], np.arange(left))


def test_a_constant_may_be_called_like_a_variant() -> None:
    build = Builder(1)
    wide = build.conv("x", 3, 16)
    model = build.model({"x": INPUT}, build.conv(build.op("Relu", wide), 16, 2))
    family = nest(model, family_masks(model), ["c0", "c1", "c2"])
    assert {item.name for item in model.graph.initializer} >= {"c0", "c1", "c2"}
    module = ir.Module.parse(family.bytecode, make_context())
    assert [op.operation.name for op in module.body.operations].count("func.func") == 3


def test_variants_that_are_not_nested_are_refused() -> None:
    model = KNOWN["dense"]()
    masks = family_masks(model)
    with pytest.raises(SerenityError, match="keeps channels that a larger one drops"):
        nest(model, masks[::-1])
    with pytest.raises(SerenityError, match="a name of its own"):
        nest(model, masks, ["a", "a", "b"])


def test_the_best_variant_within_the_budget_is_picked() -> None:
    large = Variant("large", {"macs": 90, "ram": 700}, 0.9)
    odd = Variant("odd", {"macs": 50, "ram": 900}, 0.7)
    small = Variant("small", {"macs": 40, "ram": 300}, 0.8)
    family = (large, odd, small)
    assert pick(family, {}) is large
    assert pick(family, {"macs": 90}) is large
    assert pick(family, {"macs": 89}) is small
    assert pick(family, {"macs": 100, "ram": 100}) is None


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_any_order_computes_the_same(data: st.DataObject) -> None:
    model = data.draw(networks())
    network = network_of(model)
    masks = family_masks(model, data.draw(st.integers(0, 99)))
    ordered = rebuilt(model, permuted(network, nested_order(network, channel_groups(network), masks)))
    inputs = {"x": np.random.default_rng(3).standard_normal(INPUT).astype(np.float32)}
    for found, expected in zip(run(ordered, inputs), run(model, inputs), strict=True):
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * scale)
