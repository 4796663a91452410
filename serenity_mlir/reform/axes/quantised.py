"""Quantisation and back, one scale a tensor or one a channel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serenity_mlir.reform.atoms import AxisMap
from serenity_mlir.reform.axes.rule import Rule, Rules, axis_of, link_same_shape
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Array, Node

_NEAR_TIE = 1e-3
"""A constant this near to the middle of two steps might be rounded to either."""


class Linear(Rule):
    """QuantizeLinear and DequantizeLinear."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        if node.integer("block_size", 0):
            super().link(node, axes)
            return
        link_same_shape(node, axes)
        rank = len(axes.network.shape(node.outputs[0]))
        for name in node.inputs[1:]:
            if name and len(axes.network.shape(name)) == 1 and axes.network.shape(name)[0] != 1:
                axes.same(name, 0, node.outputs[0], axis_of(node, rank, 1), str(node))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Constants on the other scale, unless it is a matter of luck which step they come to."""
        result = facts.network.tensors[node.outputs[0]]
        data = facts[node.inputs[0]]
        scale, zero = facts.constant(node.inputs[1]), facts.constant(node.input(2))
        if data is None or scale is None or (node.input(2) and zero is None) or node.integer("block_size", 0):
            return ()
        rank = len(result.shape)
        scale, zero = _spread(node, scale, rank), _spread(node, np.zeros(()) if zero is None else zero, rank)
        if node.op == "DequantizeLinear":
            offset = data.value.astype(np.int64) - zero.astype(np.int64)
            return (Known.of(offset.astype(scale.dtype) * scale, data.mask, result.dtype),)
        if result.dtype not in ("int8", "uint8", "int16", "uint16"):
            return ()
        steps = data.value / scale
        sure = np.abs(np.abs(steps - np.floor(steps)) - 0.5) > _NEAR_TIE
        limits = np.iinfo(result.dtype)
        value = np.clip(np.rint(steps) + zero, limits.min, limits.max)
        return (Known.of(value, data.mask & sure, result.dtype),)


def _spread(node: Node, parameter: Array, rank: int) -> Array:
    """A parameter of one axis along the axis of the node."""
    if parameter.size == 1:
        return parameter.reshape((1,) * rank)
    shape = [1] * rank
    shape[axis_of(node, rank, 1)] = -1
    return parameter.reshape(shape)


RULES: Rules = {"QuantizeLinear": Linear(), "DequantizeLinear": Linear()}
