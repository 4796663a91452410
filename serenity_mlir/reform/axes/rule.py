"""What a rule of an op has to say; one file a family of ops gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.reform.atoms import AxisMap
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Array, Node

if TYPE_CHECKING:
    from serenity_mlir.reform.atoms import Contraction, Indices
    from serenity_mlir.reform.draft import Draft


class Rule:
    """The rule of an op whose channels nothing is known of: they stay. Families of ops override it."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Ties the atoms of a node's operands and results."""
        for name in dict.fromkeys((*node.inputs, *node.outputs)):
            axes.fix_tensor(name, f"{node} has no axis map")

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """What is known of the results; () for nothing."""
        del node, facts
        return ()

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node as it must be once channels are gone from its operands and results."""
        del draft
        return node

    def why_not_folded(self, node: Node, facts: Facts) -> str | None:
        """Why a constant that the node sums over cannot move into its bias; None if it can."""
        del facts
        return f"{node} has no bias to take up a constant"

    def folded(self, contraction: Contraction, facts: Facts, values: Array) -> Array:
        """What a sum over constants adds to each output channel, in float64.

        Args:
            contraction: The sum.
            facts: What is known of the tensors.
            values: The constant at each position of the axis of the sum, 0 where nothing is to be folded.
        """
        raise NotImplementedError(f"{contraction.node} folds nothing")

    def with_bias(self, node: Node, added: Array, draft: Draft) -> Node:
        """The node with what `folded` returned added to its bias."""
        raise NotImplementedError(f"{node} folds {len(added)} channels into no bias of {draft}")

    def silenced(self, node: Node, channels: Indices, draft: Draft) -> Node | None:
        """The node with zeros in its constants, so that channels of its result are 0; None if it cannot."""
        del node, channels, draft
        return None


BARRIER = Rule()
"""The rule of ops that have no other."""


def present(node: Node) -> tuple[str, ...]:
    """The names of the inputs that are not left out."""
    return tuple(name for name in node.inputs if name)


def axis_of(node: Node, rank: int, default: int) -> int:
    """The attribute `axis`, counted from the front."""
    axis = node.integer("axis", default)
    return axis + rank if axis < 0 else axis


def link_same_shape(node: Node, axes: AxisMap, skip: Sequence[int] = ()) -> None:
    """Ties the first operand and the first result, of one rank, axis by axis but for those in `skip`."""
    for axis in range(len(axes.network.shape(node.outputs[0]))):
        if axis not in skip:
            axes.same(node.inputs[0], axis, node.outputs[0], axis, str(node))


def link_broadcast(node: Node, operands: Sequence[str], axes: AxisMap) -> None:
    """Ties operands to the first result as ONNX broadcasts them: aligned at the last axis."""
    result = node.outputs[0]
    shape = axes.network.shape(result)
    for name in operands:
        own = axes.network.shape(name)
        lead = len(shape) - len(own)
        for axis, size in enumerate(own):
            if size == 1 and shape[lead + axis] != 1:
                continue
            axes.same(name, axis, result, lead + axis, str(node))


def sizes_with(draft: Draft, tensor: str, wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Sizes given in a constant for each axis of a tensor, after the cut; None where they stay.

    Entries of axes that nothing is cut from stay as they are, -1 and 0 included.
    """
    result = list(wanted)
    for axis in range(len(result)):
        kept = draft.kept(tensor, axis)
        if kept is not None:
            result[axis] = len(kept)
    return tuple(result) if result != list(wanted) else None


def integer_constant(values: Sequence[int]) -> Array:
    """Integers as ONNX wants shapes, axes and sizes."""
    return np.array(values, np.int64)


Rules = Mapping[str, Rule]
