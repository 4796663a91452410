"""Convolutions: Conv, ConvTranspose, and those of integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.reform.atoms import AxisMap, Contraction, Indices
from serenity_mlir.reform.axes.rule import Rule, Rules
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Array, Network, Node

if TYPE_CHECKING:
    from serenity_mlir.reform.draft import Draft


@dataclass(frozen=True)
class Convolution(Rule):
    """A convolution of any dimensions and groups.

    Groups stay of equal size: a channel leaves with those at the same place in every other group, unless each
    group reads a single channel (depthwise), which leaves with its whole group.

    Attributes:
        weight: Which input is the filters.
        bias: Which input is the bias.
        zero: Which input is the data's zero point; -1 where data has none.
        per_output: Inputs that may hold one element an output channel.
        fixed: Inputs that stay as they are.
        transposed: Whether filters are stored input channels first.
    """

    weight: int = 1
    bias: int = 2
    zero: int = -1
    per_output: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()
    transposed: bool = False

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        network, why = axes.network, str(node)
        data, weight, result = node.inputs[0], node.inputs[self.weight], node.outputs[0]
        group = node.integer("group", 1)
        for name in (data, weight, result):
            for axis in range(2, len(network.shape(name))):
                axes.fix_axis(name, axis, f"{why} slides over this axis")
        axes.same(data, 0, result, 0, why)
        for index in self.fixed:
            axes.fix_tensor(node.input(index), f"{why} reads parameters from it")
        sizes = network.shape(data)[1], *network.shape(weight)[:2], network.shape(result)[1]
        if None in sizes:
            for name in (data, weight, result, node.input(self.bias)):
                axes.fix_tensor(name, f"{why} has channels whose number is not known")
            return
        outputs = axes.atoms(result, 1)
        for index in (self.bias, *self.per_output):
            self._link_parameter(node, index, outputs, axes)
        read = axes.atoms(data, 1).reshape(group, -1)
        made = outputs.reshape(group, -1)
        first, second = axes.atoms(weight, 0), axes.atoms(weight, 1)
        if group > 1 and read.shape[1] == 1:
            axes.tie(first.reshape(group, -1), read)
            axes.tie(made, read)
            if self.transposed:
                axes.fix(second, f"{why} makes several channels of each one")
            return
        axes.tie(made, made[:1])
        axes.tie(read, read[:1])
        if self.transposed:
            axes.tie(first.reshape(group, -1), read)
            axes.tie(made, second)
        else:
            axes.tie(first.reshape(group, -1), made)
            axes.tie(read, second)
        self._contract(node, axes)

    def _link_parameter(self, node: Node, index: int, outputs: Indices, axes: AxisMap) -> None:
        name = node.input(index) if index >= 0 else ""
        if not name:
            return
        if axes.network.tensors[name].elements == len(outputs) and len(axes.network.shape(name)) == 1:
            axes.tie(axes.atoms(name, 0), outputs)
        else:
            axes.fix_tensor(name, f"{node} reads parameters from it")

    def _contract(self, node: Node, axes: AxisMap) -> None:
        zero = zero_point(node, self.zero, axes.network)
        if zero is None:
            axes.fix_axis(node.inputs[0], 1, f"{node} computes the zero point of its data")
            return
        axis = 0 if self.transposed else 1
        axes.contractions.append(Contraction(node, node.inputs[0], 1, node.inputs[self.weight], axis, zero))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Channels whose filters are zero, or meet nothing but constants, always hold one value."""
        filters, bias = self._filters(node, facts), self._bias(node, facts)
        data, rank = facts[node.inputs[0]], len(facts.network.shape(node.outputs[0]))
        if self.zero >= 0 or filters is None or bias is None:
            return ()
        group, outputs, inputs, _ = filters.shape
        value, alike = np.zeros(group * inputs), np.zeros(group * inputs, np.bool_)
        if data is not None:
            value, alike = data.along(1, group * inputs)
        usable = alike & ((value == 0) | (self.why_not_folded(node, facts) is None))
        reads = (filters != 0).any(axis=3)
        known = ~(reads & ~usable.reshape(group, 1, inputs)).any(axis=2)
        values = np.where(usable, value, 0).reshape(group, 1, inputs)
        found = bias + (filters.sum(axis=3, dtype=np.float64) * values).sum(axis=2).ravel()
        shape = (1, group * outputs, *(1,) * (rank - 2))
        dtype = facts.network.tensors[node.outputs[0]].dtype
        return (Known.of(found.reshape(shape), known.reshape(shape), dtype),)

    def why_not_folded(self, node: Node, facts: Facts) -> str | None:
        """Why a constant cannot move into the bias; None if it can."""
        bias = node.input(self.bias)
        if self.zero >= 0:
            return f"{node} sums integers"
        if self.transposed:
            return f"{node} adds up fewer elements at its borders"
        if node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or any(node.integers("pads") or ()):
            return f"{node} pads, and a constant would have to be padded with itself"
        if bias and facts.network.value(bias) is None:
            return f"the bias of {node} is quantised or computed"
        if facts.network.value(node.inputs[self.weight]) is None:
            return f"the filters of {node} are quantised or computed"
        return None

    def folded(self, contraction: Contraction, facts: Facts, values: Array) -> Array:
        """What a sum over constants adds to each output channel."""
        filters = self._filters(contraction.node, facts)
        assert filters is not None, "filters that are no constant are refused first"  # noqa: S101
        group, _, inputs, _ = filters.shape
        sums = filters.sum(axis=3, dtype=np.float64) * values.reshape(group, 1, inputs)
        return np.asarray(sums.sum(axis=2).ravel())

    def with_bias(self, node: Node, added: Array, draft: Draft) -> Node:
        """The node with a larger bias."""
        old = draft.value(node.input(self.bias))
        weight = draft.value(node.inputs[self.weight])
        assert weight is not None, "filters that are no constant are refused first"  # noqa: S101
        total = (added if old is None else old + added).astype(weight.dtype)
        kept = draft.axis_like(node.outputs[0], 1)
        return node.with_input(self.bias, draft.constant(f"{node.name}/bias", total, kept))

    def silenced(self, node: Node, channels: Indices, draft: Draft) -> Node | None:
        """The node with zeros in its constants."""
        if self.zero >= 0 or (self.transposed and node.integer("group", 1) > 1):
            return None
        axis = 1 if self.transposed else 0
        quiet = draft.with_zeros(node, self.weight, axis, channels, 0)
        if quiet is None or not node.input(self.bias):
            return quiet
        return draft.with_zeros(quiet, self.bias, 0, channels, 0)

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        group = node.integer("group", 1)
        kept = draft.kept(node.inputs[0], 1)
        if group > 1 and kept is not None and draft.before.shape(node.inputs[0])[1] == group:
            return replace(node, attributes={**node.attributes, "group": len(kept)})
        return node

    def _filters(self, node: Node, facts: Facts) -> Array | None:
        """Constant filters as group x output channels x input channels x elements."""
        weight = facts.constant(node.inputs[self.weight])
        if weight is None:
            return None
        group = node.integer("group", 1)
        if self.transposed:
            return weight.reshape(group, weight.shape[0] // group, weight.shape[1], -1).swapaxes(1, 2)
        return weight.reshape(group, weight.shape[0] // group, weight.shape[1], -1)

    def _bias(self, node: Node, facts: Facts) -> Array | None:
        name = node.input(self.bias)
        return facts.constant(name) if name else np.zeros(1)


def zero_point(node: Node, index: int, network: Network) -> float | None:
    """The data's zero point, 0 where the op has none; None where it is no constant, or not one for all."""
    name = node.input(index) if index >= 0 else ""
    if not name:
        return 0.0
    value = network.value(name)
    return float(value.ravel()[0]) if value is not None and value.size == 1 else None


RULES: Rules = {
    "Conv": Convolution(),
    "ConvTranspose": Convolution(transposed=True),
    "ConvInteger": Convolution(bias=-1, zero=2, per_output=(3,), fixed=(2,)),
    "QLinearConv": Convolution(weight=3, bias=8, zero=2, per_output=(4, 5), fixed=(1, 2, 6, 7)),
}
