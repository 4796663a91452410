"""The rule of every op that has one."""

from __future__ import annotations

from serenity_mlir.reform.axes import (
    convolution,
    elementwise,
    joining,
    normalisation,
    pooling,
    products,
    quantised,
    shape,
)
from serenity_mlir.reform.axes.rule import BARRIER, Rule, Rules
from serenity_mlir.reform.network import Network, Node

RULES: Rules = {
    **convolution.RULES,
    **elementwise.RULES,
    **joining.RULES,
    **normalisation.RULES,
    **pooling.RULES,
    **products.RULES,
    **quantised.RULES,
    **shape.RULES,
}


def rule_of(node: Node, network: Network) -> Rule:
    """The rule of a node; the one of barriers where its op has none, or a tensor of it has no known rank."""
    named = [name for name in (*node.inputs, *node.outputs) if name]
    if not (node.outputs and node.outputs[0]) or not all(network.tensors[name].ranked for name in named):
        return BARRIER
    return RULES.get(node.op, BARRIER)
