"""What is known of a network whose channels are gated."""

from __future__ import annotations

import numpy as np

from serenity_mlir.reform.axes.registry import rule_of
from serenity_mlir.reform.gates import Gates, gate_axis, quantised_zero
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Network


def find_facts(network: Network, gates: Gates) -> Facts:
    """Constants and constant channels of every tensor, each gated channel being zero from its gate on."""
    facts = Facts(network)
    for node in network.nodes:
        found = rule_of(node, network).known(node, facts)
        for index, name in enumerate(node.outputs):
            if not name:
                continue
            facts[name] = found[index] if index < len(found) else None
            if name in gates and not gates[name].all():
                facts[name] = _gated(network, facts, gates, name)
    return facts


def _gated(network: Network, facts: Facts, gates: Gates, name: str) -> Known | None:
    (known,) = facts.aligned((name,), len(network.shape(name)))
    shape = [1] * len(network.shape(name))
    shape[gate_axis(network, name)] = -1
    keep = gates[name].reshape(shape)
    value = np.where(keep, known.value, quantised_zero(network, name))
    return Known.of(value, known.mask | ~keep, network.tensors[name].dtype)
