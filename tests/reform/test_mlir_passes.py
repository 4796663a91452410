"""The passes on torch-onnx IR do what is done to the ONNX model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from channel_graphs import gates, networks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from known_networks import KNOWN
from reform_harness import inputs_of, random_masks, run, run_module

from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.dialect_passes.torch_onnx.network import apply as rewrite
from serenity_mlir.dialect_passes.torch_onnx.network import functions
from serenity_mlir.dialect_passes.torch_onnx.propagate_gates import PropagateGatesPass
from serenity_mlir.dialect_passes.torch_onnx.prune_channels import PruneChannelsPass
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.reform.onnx_network import apply, network_of
from serenity_mlir.reform.groups import channel_groups
from serenity_mlir.reform.network import Network, Node
from serenity_mlir.reform.removal import plan_removal


def imported(name: str) -> ir.Operation:
    return import_onnx(SourceModel(Path("model.onnx"), "", "onnx", proto=KNOWN[name]()), make_context())


def gate_file(name: str, folder: Path, share: float = 0.5) -> str:
    model = KNOWN[name]()
    network, gates = network_of(model), random_masks(model, share)
    path = folder / "gates.json"
    chosen = {
        network.producers[tensor].name: np.flatnonzero(~keep).tolist() for tensor, keep in gates.items()
    }
    path.write_text(json.dumps(chosen))
    return str(path)


@pytest.mark.parametrize("name", KNOWN)
def test_the_ir_is_the_same_network(name: str) -> None:
    (function,) = functions(imported(name))
    network = network_of(KNOWN[name]())
    assert [node.op for node in function.network.nodes] == [node.op for node in network.nodes]
    for found, expected in zip(function.network.nodes, network.nodes, strict=True):
        for mine, theirs in zip(found.inputs, expected.inputs, strict=True):
            assert function.network.shape(mine) == network.shape(theirs)
            value = network.value(theirs)
            if value is not None:
                np.testing.assert_array_equal(function.network.value(mine), value)
    assert [group.size for group in channel_groups(function.network)] == [
        group.size for group in channel_groups(network)
    ]


@pytest.mark.parametrize("name", KNOWN)
def test_pruned_ir_has_the_weights_of_the_pruned_model(name: str, tmp_path: Path) -> None:
    module, model = imported(name), KNOWN[name]()
    PruneChannelsPass(gate_file(name, tmp_path)).apply(module)
    module.verify()
    after = plan_removal(network_of(model), random_masks(model, 0.5)).after
    (function,) = functions(module)
    for found, expected in zip(function.network.nodes, after.nodes, strict=True):
        assert (found.op, found.attributes.get("group")) == (expected.op, expected.attributes.get("group"))
        for mine, theirs in zip(found.inputs, expected.inputs, strict=True):
            if theirs:
                assert function.network.shape(mine) == after.shape(theirs)
                np.testing.assert_array_equal(function.network.value(mine), after.value(theirs))


def test_pruned_ir_compiles_and_computes_the_same(tmp_path: Path) -> None:
    module, model = imported("dense"), KNOWN["dense"]()
    PruneChannelsPass(gate_file("dense", tmp_path)).apply(module)
    inputs = inputs_of(model)
    found = run_module(str(module), list(inputs.values()))
    expected = run(apply(model, plan_removal(network_of(model), random_masks(model, 0.5))), inputs)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * float(np.abs(expected).max()))


def test_operators_of_old_opsets_are_refused() -> None:
    module = imported("dense")
    function = module.regions[0].blocks[0].operations[0]
    with module.context:
        old = ir.IntegerAttr.get(ir.IntegerType.get_signed(64), 9)
    function.attributes["torch.onnx_meta.opset_version"] = old
    with pytest.raises(SerenityError, match="those of opset 9"):
        PropagateGatesPass().apply(module)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_random_networks_lose_the_same_in_either_form(data: st.DataObject) -> None:
    model = data.draw(networks())
    masks = data.draw(gates(model))
    module = import_onnx(SourceModel(Path("model.onnx"), "", "onnx", proto=model), make_context())
    (function,) = functions(module)
    network = network_of(model)
    made = {
        theirs: mine
        for node in network.nodes
        for mine, theirs in zip(function.network.by_name[node.name].outputs, node.outputs, strict=True)
    }
    renamed = {made[tensor]: keep for tensor, keep in masks.items()}
    rewrite(function, plan_removal(function.network, renamed))
    module.verify()
    after = plan_removal(network, masks).after
    (function,) = functions(module)
    for found, expected in zip(by_output(function.network), by_output(after), strict=True):
        assert found.op == expected.op
        for mine, theirs in zip(found.inputs, expected.inputs, strict=True):
            if theirs:
                assert function.network.shape(mine) == after.shape(theirs)
                np.testing.assert_array_equal(function.network.value(mine), after.value(theirs))


def by_output(network: Network) -> list[Node]:
    """The nodes from the outputs back to the inputs: an order that names do not change."""
    found: dict[str, Node] = {}
    pending = list(network.outputs)
    while pending:
        node = network.producers.get(pending.pop(0))
        if node is not None and node.name not in found:
            found[node.name] = node
            pending += [name for name in node.inputs if name]
    return list(found.values())


def test_groups_are_marked_on_weights_and_results() -> None:
    module = imported("shuffle")
    ((first, *_),) = PropagateGatesPass().apply(module)
    marked = module.regions[0].blocks[0].operations[0].regions[0].blocks[0].operations
    holders = {op.location.name_str for op in marked if "serenity.groups" in op.attributes}
    assert set(first.sources) <= holders
    assert first.size == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ('{"Conv_0": [99]}', "makes 12 channels"),
        ('{"nowhere": [0]}', "there is no node 'nowhere'"),
        ('{"Conv_00": [0]}', "did you mean 'Conv_0'"),
        ('{"Conv_0": 1}', "holds an object of lists"),
    ],
)
def test_gates_that_do_not_fit_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "gates.json"
    path.write_text(content)
    with pytest.raises(SerenityError, match=message):
        PruneChannelsPass(str(path)).apply(imported("shuffle"))
