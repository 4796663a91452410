"""Ops over positions that leave channels apart: pools, reductions, resampling, depth and space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from serenity_mlir.reform.atoms import AxisMap
from serenity_mlir.reform.axes.rule import Rule, Rules, integer_constant
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Network, Node

if TYPE_CHECKING:
    from serenity_mlir.reform.draft import Draft


@dataclass(frozen=True)
class Pool(Rule):
    """A window that slides over all axes but the first two.

    Attributes:
        constants: Whether a channel of one constant stays so; a channel of zeros always does.
    """

    constants: bool

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        if any(node.outputs[1:]):
            super().link(node, axes)  # positions in the whole tensor change with its channels
            return
        for name in (node.inputs[0], node.outputs[0]):
            for axis in range(2, len(axes.network.shape(name))):
                axes.fix_axis(name, axis, f"{node} slides over this axis")
        for axis in (0, 1):
            axes.same(node.inputs[0], axis, node.outputs[0], axis, str(node))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Channels that hold one value."""
        shape = facts.network.shape(node.inputs[0])
        data = facts[node.inputs[0]]
        if data is None or len(shape) < 2 or shape[1] is None:
            return ()
        value, alike = data.along(1, shape[1])
        constants = self.constants or not (
            any(node.integers("pads") or ())
            or node.integer("ceil_mode", 0)
            or node.text("auto_pad", "NOTSET") != "NOTSET"
        )
        keep = alike & ((value == 0) | constants)
        rest = (1, -1, *(1,) * (len(facts.network.shape(node.outputs[0])) - 2))
        dtype = facts.network.tensors[node.outputs[0]].dtype
        return (Known.of(value.reshape(rest), keep.reshape(rest), dtype),)


@dataclass(frozen=True)
class Reduce(Rule):
    """A reduction over some axes, which stay.

    Attributes:
        of_constant: What it makes of n equal elements; None where that is not worth knowing.
    """

    of_constant: Callable[[Any, int], Any] | None = None

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        data, result = node.inputs[0], node.outputs[0]
        reduced = _reduced(node, axes.network)
        for name in node.inputs[1:]:
            axes.fix_tensor(name, f"{node} reads axes from it")
        if reduced is None:
            for name in (data, result):
                axes.fix_tensor(name, f"{node} reduces axes that are not known")
            return
        for axis in reduced:
            axes.fix_axis(data, axis, f"{node} reduces over this axis")
        for axis, place in _left(node, axes.network, reduced).items():
            axes.same(data, axis, result, place, str(node))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """The reduction of what is one value along all reduced axes."""
        data, reduced = facts[node.inputs[0]], _reduced(node, facts.network)
        shape = facts.network.shape(node.inputs[0])
        sizes = [shape[axis] for axis in reduced or ()]
        if data is None or reduced is None or self.of_constant is None or None in sizes:
            return ()
        first = np.min(data.value, axis=reduced, keepdims=True)
        equal = data.mask & (data.value == first)
        alike = equal.all(axis=reduced, keepdims=True)
        count = int(np.prod([size or 0 for size in sizes]))
        value = np.asarray(self.of_constant(first, count))
        if not node.integer("keepdims", 1):
            value, alike = value.squeeze(reduced), alike.squeeze(reduced)
        return (Known.of(value, alike, facts.network.tensors[node.outputs[0]].dtype),)


def _reduced(node: Node, network: Network) -> tuple[int, ...] | None:
    """The axes that are reduced; None where they are not known."""
    rank = len(network.shape(node.inputs[0]))
    axes: tuple[int, ...] | None = node.integers("axes")
    if node.op in ("ArgMax", "ArgMin"):
        axes = (node.integer("axis", 0),)
    elif node.input(1):
        axes = network.integers(node.input(1))
        if axes is None:
            return None
    if not axes:
        return () if node.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted(axis % rank for axis in axes))


def _left(node: Node, network: Network, reduced: tuple[int, ...]) -> dict[int, int]:
    """For each axis that is not reduced its place in the result."""
    left = [axis for axis in range(len(network.shape(node.inputs[0]))) if axis not in reduced]
    if node.integer("keepdims", 1):
        return {axis: axis for axis in left}
    return {axis: place for place, axis in enumerate(left)}


class Resize(Rule):
    """Resampling: axes that keep their size keep their positions, the others stay."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        data, result = node.inputs[0], node.outputs[0]
        reason = f"{node} resamples this axis"
        for name in node.inputs[1:]:
            axes.fix_tensor(name, f"{node} reads sizes from it")
        untouched = _unresampled(node, axes.network)
        for axis in range(len(axes.network.shape(data))):
            if axis in untouched:
                axes.same(data, axis, result, axis, str(node))
            else:
                axes.fix_axis(data, axis, reason)
                axes.fix_axis(result, axis, reason)

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Channels of zeros, and those of one value where each element is a copy of one."""
        shape, untouched = facts.network.shape(node.inputs[0]), _unresampled(node, facts.network)
        data = facts[node.inputs[0]]
        if data is None or 1 not in untouched or shape[1] is None:
            return ()
        value, alike = data.along(1, shape[1])
        keep = alike & ((value == 0) | (node.text("mode", "nearest") == "nearest"))
        rest = (1, -1, *(1,) * (len(shape) - 2))
        dtype = facts.network.tensors[node.outputs[0]].dtype
        return (Known.of(value.reshape(rest), keep.reshape(rest), dtype),)

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        sizes = list(draft.before.integers(node.input(3)) or ())
        axes = node.integers("axes") or tuple(range(len(sizes)))
        found = list(sizes)
        for index, axis in enumerate(axes[: len(sizes)]):
            kept = draft.kept(node.outputs[0], axis)
            if kept is not None:
                found[index] = len(kept)
        if found == sizes:
            return node
        return node.with_input(3, draft.constant(f"{node.name}/sizes", integer_constant(found)))


def _unresampled(node: Node, network: Network) -> set[int]:
    """The axes whose positions a Resize leaves as they are."""
    before, after = network.shape(node.inputs[0]), network.shape(node.outputs[0])
    listed = node.integers("axes")
    rank = len(before)
    if node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        return set()
    if listed is not None:
        named = {axis % rank for axis in listed}
        return {axis for axis in range(rank) if axis not in named}
    scales, sizes = network.value(node.input(2)), network.integers(node.input(3))
    if scales is not None and scales.size == rank:
        return {axis for axis in range(rank) if scales.ravel()[axis] == 1}
    if sizes is not None:
        return {axis for axis in range(rank) if before[axis] == after[axis] == sizes[axis]}
    return set()


class DepthAndSpace(Rule):
    """Channels that become positions, or back: those of one block leave together."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        deep, flat = node.inputs[0], node.outputs[0]
        if node.op == "SpaceToDepth":
            deep, flat = flat, deep
        for name in (deep, flat):
            for axis in range(2, len(axes.network.shape(name))):
                axes.fix_axis(name, axis, f"{node} moves positions of this axis")
        axes.same(deep, 0, flat, 0, str(node))
        if None in (axes.network.shape(deep)[1], axes.network.shape(flat)[1]):
            super().link(node, axes)
            return
        few = axes.atoms(flat, 1)
        if node.text("mode", "DCR") == "CRD":
            axes.tie(axes.atoms(deep, 1).reshape(len(few), -1), few[:, None])
        else:
            axes.tie(axes.atoms(deep, 1).reshape(-1, len(few)), few)

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Blocks of zeros."""
        data, shape = facts[node.inputs[0]], facts.network.shape(node.outputs[0])
        before = facts.network.shape(node.inputs[0])[1]
        if data is None or before is None or shape[1] is None:
            return ()
        silent = facts.zeros_along(node.inputs[0], 1, before, 0)
        if node.op == "SpaceToDepth":
            mask = np.tile(silent, shape[1] // before)
        elif node.text("mode", "DCR") == "CRD":
            mask = np.asarray(silent.reshape(shape[1], -1).all(axis=1))
        else:
            mask = np.asarray(silent.reshape(-1, shape[1]).all(axis=0))
        mask = mask.reshape(1, -1, 1, 1)
        return (Known.of(np.zeros(mask.shape), mask, facts.network.tensors[node.outputs[0]].dtype),)


def _mean(value: Any, _: int) -> Any:
    return value


def _total(value: Any, count: int) -> Any:
    return value * count


RULES: Rules = {
    "MaxPool": Pool(constants=True),
    "AveragePool": Pool(constants=False),
    "GlobalAveragePool": Pool(constants=True),
    "GlobalMaxPool": Pool(constants=True),
    "ReduceMean": Reduce(_mean),
    "ReduceMax": Reduce(_mean),
    "ReduceMin": Reduce(_mean),
    "ReduceSum": Reduce(_total),
    "ReduceL1": Reduce(),
    "ReduceL2": Reduce(),
    "ReduceProd": Reduce(),
    "ReduceSumSquare": Reduce(),
    "ReduceLogSumExp": Reduce(),
    "ArgMax": Reduce(),
    "ArgMin": Reduce(),
    "Resize": Resize(),
    "DepthToSpace": DepthAndSpace(),
    "SpaceToDepth": DepthAndSpace(),
}
