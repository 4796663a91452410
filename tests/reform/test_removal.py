"""What is left after the removal equals the network with the same channels multiplied by zero."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from channel_graphs import INPUT, anywhere, gates, networks
from channel_networks import Builder, QuantisedBuilder
from corpus import shared_cases, shared_models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from int8_channel_graphs import quantised_networks
from known_networks import KNOWN
from reform_harness import inputs_of, random_masks, run, run_iree

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform.onnx_network import apply, load, masked, network_of
from serenity_mlir.reform.gates import Gates
from serenity_mlir.reform.removal import Surgery, plan_removal

INPUTS = {"x": np.random.default_rng(7).standard_normal(INPUT).astype(np.float32)}


def check(model: onnx.ModelProto, masks: Gates, inputs: dict[str, np.ndarray]) -> Surgery:
    """Prune, compare with the masked model, and compare every shape with ONNX's own inference."""
    surgery = plan_removal(network_of(model), masks)
    pruned = apply(model, surgery)
    onnx.checker.check_model(pruned, full_check=True)
    inferred = network_of(pruned)
    assert {name: tensor.shape for name, tensor in inferred.tensors.items()} == {
        name: surgery.after.shape(name) for name in inferred.tensors
    }
    for found, expected in zip(run(pruned, inputs), run(masked(model, masks), inputs), strict=True):
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * scale)
    return surgery


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_pruned_equals_masked(data: st.DataObject) -> None:
    model = data.draw(networks())
    check(model, data.draw(gates(model)), INPUTS)


def check_bits(model: onnx.ModelProto, masks: Gates) -> None:
    """Results of integers agree to the bit."""
    pruned, reference = apply(model, plan_removal(network_of(model), masks)), masked(model, masks)
    for found, expected in zip(run(pruned, inputs_of(model)), run(reference, inputs_of(model)), strict=True):
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_random_int8_networks_agree_to_the_bit(data: st.DataObject) -> None:
    model = data.draw(quantised_networks())
    check_bits(model, data.draw(gates(model)))


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_known_networks_lose_what_they_should(name: str, share: float) -> None:
    model = KNOWN[name]()
    masks = random_masks(model, share)
    surgery = check(model, masks, inputs_of(model))
    assert not surgery.refused or all("no other channel" in item.reason for item in surgery.refused)
    assert not [node for node in surgery.after.nodes if node.name not in surgery.before.by_name]
    if name in ("quantised", "operator"):
        check_bits(model, masks)


@pytest.mark.parametrize("name", ["shuffle", "dense", "excited", "quantised"])
def test_iree_agrees(name: str) -> None:
    model = KNOWN[name]()
    masks = random_masks(model, 0.5)
    pruned, reference = apply(model, plan_removal(network_of(model), masks)), masked(model, masks)
    inputs = inputs_of(model)
    found = run_iree(pruned, inputs)
    if name == "quantised":
        np.testing.assert_array_equal(found, run_iree(reference, inputs))
    else:
        (expected,) = run(reference, inputs)
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(found, [expected], rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("path", shared_models())
def test_real_networks(path: Path) -> None:
    model, _ = load(path)
    masks = random_masks(model, 0.5, seed=1)
    check(model, masks, inputs_of(model))
    if "int8" in path.name:
        check_bits(model, masks)


@pytest.mark.parametrize("folder", shared_cases())
@pytest.mark.parametrize("seed", [0, 1])
def test_cases(folder: Path, seed: int) -> None:
    try:
        model, network = load(folder / "model.onnx")
    except SerenityError as error:
        pytest.skip(f"does not load: {error.message}")
    masks = anywhere(network, np.random.default_rng(seed), 0.5) if seed else random_masks(model, 0.5)
    with np.load(folder / "inputs.npz") as inputs:
        check(model, masks, dict(inputs))


def two_layers(*, pads: int) -> onnx.ModelProto:
    """A convolution, a batch normalisation that makes two constants, and a 3x3 convolution that may pad."""
    build = Builder(5)
    normal = build.norm(build.conv("x", 3, 6), 6, zero_scale=(1, 4))
    last = build.conv(build.op("Sigmoid", normal), 6, 2, pads=[pads] * 4)
    return build.model({"x": INPUT}, last)


def test_constants_fold_into_the_next_bias_where_nothing_is_padded() -> None:
    model = two_layers(pads=0)
    network = network_of(model)
    surgery = plan_removal(network, {}, constants=True)
    (last,) = [node for node in surgery.after.nodes if node.outputs == network.outputs]
    assert surgery.after.shape(last.inputs[0])[1] == 4
    (found,), (expected,) = run(apply(model, surgery), INPUTS), run(model, INPUTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_constants_stay_where_they_would_have_to_be_padded() -> None:
    model = two_layers(pads=1)
    gate = {"Conv_0": np.array([True, False, True, True, True, True])}
    surgery = check(model, gate, INPUTS)
    (refusal,) = surgery.refused
    assert refusal.channels == (1,)
    assert "(Conv) pads" in refusal.reason
    assert surgery.kept == {}


def test_a_summand_that_is_masked_alone_keeps_its_place_with_zeros() -> None:
    build = Builder(6)
    one, two = build.conv("x", 3, 4), build.conv("x", 3, 4)
    last = build.conv(build.op("Add", one, two), 4, 2)
    model = build.model({"x": INPUT}, last)
    surgery = check(model, {one: np.array([True, False, True, False])}, INPUTS)
    assert [item.channels for item in surgery.refused] == [(1, 3)]
    assert "is not constant there" in surgery.refused[0].reason
    assert [node.name for node in surgery.after.nodes] == [node.name for node in surgery.before.nodes]


def test_one_channel_stays_where_all_are_masked() -> None:
    build = Builder(7)
    wide = build.conv("x", 3, 4)
    model = build.model({"x": INPUT}, build.conv(build.op("Relu", wide), 4, 2))
    surgery = check(model, {wide: np.zeros(4, np.bool_)}, INPUTS)
    assert surgery.after.shape(wide)[1] == 1
    assert surgery.refused[0].reason == f"no other channel of '{wide}' is left"


def test_an_int8_bias_takes_up_no_constant() -> None:
    build = QuantisedBuilder(8)
    parameters = build.constant(0.05, np.float32), build.constant(3, np.int8)
    x = build.op("DequantizeLinear", "x", *parameters)
    made = build.op("Conv", x, build.quantised(4, 3, 1, 1, axis=0), build.bias(4))
    half = build.scale(build.op("Sigmoid", made), 0.01, -128)
    last = build.op("Conv", half, build.quantised(2, 4, 1, 1, axis=0), build.bias(2))
    model = build.model({"x": INPUT}, build.op("QuantizeLinear", last, *parameters), dtype=np.int8)
    gate = {made: np.array([True, False, True, True])}
    surgery = check(model, gate, inputs_of(model))
    check_bits(model, gate)
    assert "quantised or computed" in surgery.refused[0].reason


def test_no_gate_leaves_every_node_as_it_is() -> None:
    network = network_of(KNOWN["dense"]())
    surgery = plan_removal(network, {})
    assert surgery.after.nodes == network.nodes
    assert surgery.kept == {}
