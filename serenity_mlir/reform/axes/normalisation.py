"""Normalisation: what keeps channels apart, and what mixes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.reform.atoms import AxisMap
from serenity_mlir.reform.axes.rule import Rule, Rules, axis_of, link_same_shape
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Node

if TYPE_CHECKING:
    from serenity_mlir.reform.atoms import Indices
    from serenity_mlir.reform.draft import Draft


class BatchNormalization(Rule):
    """Inference only: each channel is scaled and shifted by constants of its own."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        if node.integer("training_mode", 0) or any(node.outputs[1:]):
            super().link(node, axes)
            return
        link_same_shape(node, axes)
        for name in node.inputs[1:5]:
            axes.same(name, 0, node.outputs[0], 1, str(node))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Constants scaled and shifted; a channel whose scale is 0 holds its shift."""
        parameters = [facts.constant(name) for name in node.inputs[1:5]]
        result = facts.network.tensors[node.outputs[0]]
        rank = len(result.shape)
        shape = (1, -1, *(1,) * (rank - 2))
        (data,) = facts.aligned(node.inputs[:1], rank)
        present = [item.astype(np.float64).reshape(shape) for item in parameters if item is not None]
        if len(present) < 4:
            return ()
        scale, shift, mean, variance = present
        factor = scale / np.sqrt(variance + node.real("epsilon", 1e-5))
        value = np.where(data.mask, (data.value - mean) * factor, 0) + shift
        return (Known.of(value, data.mask | (scale == 0), result.dtype),)

    def silenced(self, node: Node, channels: Indices, draft: Draft) -> Node | None:
        """The node with zeros in its constants."""
        quiet = draft.with_zeros(node, 1, 0, channels, 0)
        return quiet and draft.with_zeros(quiet, 2, 0, channels, 0)


class InstanceNormalization(Rule):
    """Each channel is normalised over its own positions."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        link_same_shape(node, axes)
        for name in node.inputs[1:3]:
            axes.same(name, 0, node.outputs[0], 1, str(node))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """A channel of zeros becomes its shift."""
        shift = facts.constant(node.inputs[2])
        if shift is None:
            return ()
        result = facts.network.tensors[node.outputs[0]]
        shape = (1, -1, *(1,) * (len(result.shape) - 2))
        silent = facts.zeros_along(node.inputs[0], 1, len(shift), 0)
        return (Known.of(shift.reshape(shape), silent.reshape(shape), result.dtype),)


@dataclass(frozen=True)
class MixesAxis(Rule):
    """An op whose result at a position reads all positions along some axes: those stay.

    Attributes:
        axis: Their default.
        to_end: Whether all axes after it are mixed too.
        parameters: Inputs that lie along the mixed axes.
    """

    axis: int
    to_end: bool = False
    parameters: tuple[int, ...] = ()

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        rank = len(axes.network.shape(node.inputs[0]))
        first = axis_of(node, rank, self.axis)
        mixed = range(first, rank) if self.to_end else (first,)
        reason = f"{node} mixes what lies along this axis"
        for axis in mixed:
            axes.fix_axis(node.inputs[0], axis, reason)
            axes.fix_axis(node.outputs[0], axis, reason)
        link_same_shape(node, axes, tuple(mixed))
        for index in self.parameters:
            axes.fix_tensor(node.input(index), reason)
        for name in node.outputs[1:]:  # means and deviations of a layer normalisation
            axes.fix_tensor(name, reason)


RULES: Rules = {
    "BatchNormalization": BatchNormalization(),
    "InstanceNormalization": InstanceNormalization(),
    "Softmax": MixesAxis(-1),
    "LogSoftmax": MixesAxis(-1),
    "Hardmax": MixesAxis(-1),
    "LpNormalization": MixesAxis(-1),
    "LRN": MixesAxis(1),
    "LayerNormalization": MixesAxis(-1, to_end=True, parameters=(1, 2)),
    "RMSNormalization": MixesAxis(-1, to_end=True, parameters=(1,)),
}
