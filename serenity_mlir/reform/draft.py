"""A network in the making: constants and nodes are replaced, and cut to size at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from serenity_mlir.reform.atoms import Indices
from serenity_mlir.reform.gates import Gates, gate_axis, gating, quantised_zero
from serenity_mlir.reform.network import Array, Network, Node, Tensor

Kept = Mapping[int, Indices]
"""By axis: the positions that stay, ascending."""

_DEQUANTIZE = "DequantizeLinear"


class Draft:
    """Edits of a network from which channels are removed; positions are those before the removal.

    Attributes:
        before: The network as it was.
        nodes: Its nodes by name as they are now, in topological order.
    """

    def __init__(self, before: Network, kept: Mapping[str, Kept]) -> None:
        self.before = before
        self.nodes = {node.name: node for node in before.nodes}
        self._kept = dict(kept)
        self._tensors = dict(before.tensors)

    def kept(self, tensor: str, axis: int) -> Indices | None:
        """The positions that stay along an axis; None where all do."""
        return self._kept.get(tensor, {}).get(axis)

    def value(self, name: str) -> Array | None:
        """What a constant holds now, nothing cut from it yet; None for "" and for what is no constant."""
        return self._tensors[name].value if name else None

    def shape(self, name: str) -> tuple[int | None, ...]:
        """Elements along each axis of a tensor, nothing cut from it yet."""
        return self._tensors[name].shape

    def constant(self, wanted: str, value: Array, kept: Kept | None = None) -> str:
        """A new constant, to be cut as `kept` says.

        Returns:
            Its name: `wanted`, with a number where that is taken.
        """
        name, copies = wanted, 0
        while name in self._tensors:
            copies += 1
            name = f"{wanted}_{copies}"
        self._tensors[name] = Tensor.constant(name, value)
        if kept:
            self._kept[name] = kept
        return name

    def axis_like(self, tensor: str, axis: int) -> Kept:
        """How a constant of one axis is cut that lies along an axis of a tensor."""
        kept = self.kept(tensor, axis)
        return {} if kept is None else {0: kept}

    def with_zeros(self, node: Node, index: int, axis: int, positions: Indices, zero: float) -> Node | None:
        """The node with zeros at some positions along an axis of one constant input.

        Args:
            node: As it is now.
            index: Which input: a constant, or a constant that is dequantised.
            axis: Its axis.
            positions: Where zeros go.
            zero: What is stored for zero where the input is a constant.

        Returns:
            None where somebody else reads the constant too, or there is none.
        """
        name = node.input(index)
        value, maker = self.value(name), self.before.producers.get(name)
        if value is not None:
            if len(self._readers(name)) > 1:
                return None
            changed = np.moveaxis(value.copy(), axis, 0)
            changed[positions] = zero
            made = self.constant(f"{name}/gated", np.moveaxis(changed, 0, axis), self._kept.get(name))
            return node.with_input(index, made)
        if maker is None or maker.op != _DEQUANTIZE or len(self._readers(name)) > 1:
            return None
        point = self.value(maker.input(2))
        if point is not None and (point != point.ravel()[0]).any():
            return None
        stored = 0.0 if point is None else float(point.ravel()[0])
        changed_maker = self.with_zeros(self.nodes[maker.name], 0, axis, positions, stored)
        if changed_maker is None:
            return None
        self.nodes[maker.name] = changed_maker
        return node

    def _readers(self, name: str) -> list[str]:
        found = [node.name for node in self.nodes.values() if name in node.inputs]
        return found + [name] * (name in self.before.outputs)

    def finished(self, masks: Gates) -> Network:
        """The network with everything cut to size, and with gates in the open where `masks` asks for them."""
        tensors = {name: self._cut(tensor) for name, tensor in self._tensors.items()}
        nodes: list[Node] = []

        def fresh(wanted: str) -> str:
            return self.before.fresh(wanted)

        for node in self.nodes.values():
            gated = [name for name in node.outputs if name in masks]
            renamed = {name: fresh(f"{name}/ungated") for name in gated}
            if gated:
                node = replace(node, outputs=tuple(renamed.get(name, name) for name in node.outputs))  # noqa: PLW2901
            nodes.append(node)
            for name in gated:
                axis = gate_axis(self.before, name)
                kept, raw = self.kept(name, axis), replace(tensors[name], name=renamed[name])
                mask = masks[name] if kept is None else masks[name][kept]
                made, constants = gating(name, raw, mask, axis, quantised_zero(self.before, name), fresh)
                nodes.append(made)
                tensors.update((tensor.name, tensor) for tensor in (raw, *constants))
        named = {name for node in nodes for name in (*node.inputs, *node.outputs)}
        named.update(self.before.inputs, self.before.outputs)
        left = {name: tensor for name, tensor in tensors.items() if name in named}
        return replace(self.before, nodes=tuple(nodes), tensors=left)

    def _cut(self, tensor: Tensor) -> Tensor:
        kept = self._kept.get(tensor.name)
        if not kept:
            return tensor
        shape = list(tensor.shape)
        value = tensor.value
        for axis, positions in kept.items():
            shape[axis] = len(positions)
            value = None if value is None else np.take(value, positions, axis)
        return replace(tensor, shape=tuple(shape), value=value)
