"""Products of matrices: Gemm, MatMul, and those of integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.reform.atoms import AxisMap, Contraction
from serenity_mlir.reform.axes.convolution import zero_point
from serenity_mlir.reform.axes.rule import Rule, Rules
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Array, Node

if TYPE_CHECKING:
    from serenity_mlir.reform.atoms import Indices
    from serenity_mlir.reform.draft import Draft


class Gemm(Rule):
    """alpha A B + beta C, each of A and B perhaps transposed."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        why, result = str(node), node.outputs[0]
        rows, inner = (1, 0) if node.integer("transA", 0) else (0, 1)
        summed, columns = (1, 0) if node.integer("transB", 0) else (0, 1)
        axes.same(node.inputs[0], rows, result, 0, why)
        axes.same(node.inputs[1], columns, result, 1, why)
        axes.same(node.inputs[0], inner, node.inputs[1], summed, why)
        axes.contractions.append(Contraction(node, node.inputs[0], inner, node.inputs[1], summed))
        bias = node.input(2)
        shape = axes.network.shape(bias) if bias else ()
        for axis, size in enumerate(shape):
            if size != 1:
                axes.same(bias, axis, result, axis + 2 - len(shape), why)

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Columns of zeros hold the bias, and constants add what they add."""
        weight, bias = _columns(node, facts), _bias(node, facts)
        if weight is None or bias is None:
            return ()
        value, alike = np.zeros(len(weight)), np.zeros(len(weight), np.bool_)
        data = facts[node.inputs[0]]
        if data is not None:
            value, alike = data.along(0 if node.integer("transA", 0) else 1, len(weight))
        known = ~((weight != 0) & ~alike[:, None]).any(axis=0)
        found = bias + node.real("alpha", 1.0) * (np.where(alike, value, 0) @ weight.astype(np.float64))
        dtype = facts.network.tensors[node.outputs[0]].dtype
        return (Known.of(found, np.broadcast_to(known, found.shape), dtype),)

    def why_not_folded(self, node: Node, facts: Facts) -> str | None:
        """Why a constant cannot move into the bias; None if it can."""
        if node.input(2) and facts.network.value(node.input(2)) is None:
            return f"the bias of {node} is quantised or computed"
        if facts.network.value(node.inputs[1]) is None:
            return f"the weights of {node} are quantised or computed"
        return None

    def folded(self, contraction: Contraction, facts: Facts, values: Array) -> Array:
        """What a sum over constants adds to each output channel."""
        weight = _columns(contraction.node, facts)
        assert weight is not None, "weights that are no constant are refused first"  # noqa: S101
        return np.asarray(contraction.node.real("alpha", 1.0) * (values @ weight.astype(np.float64)))

    def with_bias(self, node: Node, added: Array, draft: Draft) -> Node:
        """The node with a larger bias."""
        old, weight = draft.value(node.input(2)), draft.value(node.inputs[1])
        assert weight is not None, "weights that are no constant are refused first"  # noqa: S101
        total = np.asarray(added if old is None else node.real("beta", 1.0) * old + added).astype(
            weight.dtype
        )
        lead = 2 - total.ndim
        cuts = {axis: draft.kept(node.outputs[0], axis + lead) for axis in range(total.ndim)}
        kept = {axis: left for axis, left in cuts.items() if left is not None and total.shape[axis] > 1}
        made = draft.constant(f"{node.name}/bias", total, kept)
        return replace(node.with_input(2, made), attributes={**node.attributes, "beta": 1.0})

    def silenced(self, node: Node, channels: Indices, draft: Draft) -> Node | None:
        """The node with zeros in its constants."""
        bias = node.input(2)
        if bias and (len(draft.shape(bias)) == 0 or draft.shape(bias)[-1] == 1):
            return None
        axis = 0 if node.integer("transB", 0) else 1
        quiet = draft.with_zeros(node, 1, axis, channels, 0)
        if quiet is None or not bias:
            return quiet
        return draft.with_zeros(quiet, 2, len(draft.shape(bias)) - 1, channels, 0)


def _columns(node: Node, facts: Facts) -> Array | None:
    """Constant weights, summed axis first."""
    weight = facts.constant(node.inputs[1])
    return weight.T if weight is not None and node.integer("transB", 0) else weight


def _bias(node: Node, facts: Facts) -> Array | None:
    """What is added, of two axes of which the first may be 1."""
    if not node.input(2):
        return np.zeros((1, 1))
    bias = facts.constant(node.input(2))
    return None if bias is None else np.atleast_2d(node.real("beta", 1.0) * bias.astype(np.float64))


@dataclass(frozen=True)
class MatrixProduct(Rule):
    """A product of the last two axes; those before them broadcast.

    Attributes:
        right: Which input is the second factor.
        zero: Which input is the first factor's zero point; -1 where it has none.
        per_column: Inputs that may hold one element a column.
        fixed: Inputs that stay as they are.
    """

    right: int = 1
    zero: int = -1
    per_column: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        one, other, result = node.inputs[0], node.inputs[self.right], node.outputs[0]
        shapes = [axes.network.shape(name) for name in (one, other, result)]
        if min(map(len, shapes)) < 2:
            super().link(node, axes)
            return
        ranks = [len(shape) for shape in shapes]
        why = str(node)
        axes.same(one, ranks[0] - 2, result, ranks[2] - 2, why)
        axes.same(other, ranks[1] - 1, result, ranks[2] - 1, why)
        axes.same(one, ranks[0] - 1, other, ranks[1] - 2, why)
        for name, shape in zip((one, other), shapes, strict=False):
            lead = ranks[2] - len(shape)
            for axis, size in enumerate(shape[:-2]):
                if size != 1 or shapes[2][lead + axis] == 1:
                    axes.same(name, axis, result, lead + axis, why)
        for index in self.fixed:
            axes.fix_tensor(node.input(index), f"{why} reads parameters from it")
        for index in self.per_column:
            self._link_parameter(node, node.input(index), axes)
        zero = zero_point(node, self.zero, axes.network)
        if zero is None:
            axes.fix_axis(one, ranks[0] - 1, f"{why} computes the zero point of its data")
            return
        axes.contractions.append(Contraction(node, one, ranks[0] - 1, other, ranks[1] - 2, zero))

    def _link_parameter(self, node: Node, name: str, axes: AxisMap) -> None:
        shape = axes.network.shape(name) if name else ()
        result = node.outputs[0]
        if len(shape) == 1 and shape[0] != 1:
            axes.same(name, 0, result, len(axes.network.shape(result)) - 1, str(node))
        else:
            axes.fix_tensor(name, f"{node} reads parameters from it")

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Columns of zeros, and columns that meet nothing but zeros, are zeros."""
        weight = facts.constant(node.inputs[self.right])
        rank = len(facts.network.shape(node.outputs[0]))
        if self.zero >= 0 or weight is None or weight.ndim != 2:
            return ()
        axis = len(facts.network.shape(node.inputs[0])) - 1
        silent = facts.zeros_along(node.inputs[0], axis, len(weight), 0)
        known = ~((weight != 0) & ~silent[:, None]).any(axis=0).reshape((1,) * (rank - 1) + (-1,))
        return (Known.of(np.zeros(known.shape), known, facts.network.tensors[node.outputs[0]].dtype),)

    def silenced(self, node: Node, channels: Indices, draft: Draft) -> Node | None:
        """The node with zeros in its constants."""
        if self.zero >= 0:
            return None
        axis = len(draft.before.shape(node.inputs[self.right])) - 1
        return draft.with_zeros(node, self.right, axis, channels, 0)


RULES: Rules = {
    "Gemm": Gemm(),
    "MatMul": MatrixProduct(),
    "MatMulInteger": MatrixProduct(zero=2, per_column=(3,), fixed=(2,)),
    "QLinearMatMul": MatrixProduct(right=3, zero=2, per_column=(4, 5), fixed=(1, 2, 6, 7)),
}
