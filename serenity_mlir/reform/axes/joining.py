"""Ops that put tensors together along an axis, or take parts of one: Concat, Split, Slice, Gather, Pad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.reform.atoms import AxisMap
from serenity_mlir.reform.axes.rule import Rule, Rules, axis_of, integer_constant
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Array, Network, Node

if TYPE_CHECKING:
    from serenity_mlir.reform.draft import Draft


class Concat(Rule):
    """The positions of each operand, one operand after the other; an operand may come twice."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        result, why = node.outputs[0], str(node)
        joined = axis_of(node, len(axes.network.shape(result)), 0)
        for name in node.inputs:
            for axis in range(len(axes.network.shape(result))):
                if axis != joined:
                    axes.same(name, axis, result, axis, why)
        sizes = [axes.network.shape(name)[joined] for name in node.inputs]
        if None in (*sizes, axes.network.shape(result)[joined]):
            for name in (*node.inputs, result):
                axes.fix_axis(name, joined, f"{why} joins sizes that are not known")
            return
        parts = [axes.atoms(name, joined) for name in node.inputs]
        axes.tie(np.concatenate(parts), axes.atoms(result, joined))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """What is known of the operands, side by side."""
        result = facts.network.tensors[node.outputs[0]]
        joined = axis_of(node, len(result.shape), 0)
        sizes = [facts.network.shape(name)[joined] for name in node.inputs]
        operands = facts.aligned(node.inputs, len(result.shape))
        if None in sizes or not any(item.mask.any() for item in operands):
            return ()
        shape = list(np.broadcast_shapes(*(_without(item.value.shape, joined) for item in operands)))
        values, masks = [], []
        for size, item in zip(sizes, operands, strict=True):
            shape[joined] = size or 0
            values.append(np.broadcast_to(item.value, shape))
            masks.append(np.broadcast_to(item.mask, shape))
        value, mask = np.concatenate(values, axis=joined), np.concatenate(masks, axis=joined)
        return (Known.of(value, mask, result.dtype),)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])


def _taken(known: Known | None, axis: int, positions: Array) -> Known | None:
    """What is known of some positions along an axis."""
    if known is None or known.value.shape[axis] == 1:
        return known
    return Known(np.take(known.value, positions, axis), np.take(known.mask, positions, axis))


class Split(Rule):
    """Parts of one axis, in their order."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        data, why = node.inputs[0], str(node)
        split = axis_of(node, len(axes.network.shape(data)), 0)
        axes.fix_tensor(node.input(1), f"{why} reads sizes from it")
        bounds = _bounds(node, axes.network)
        for index, name in enumerate(node.outputs):
            if not name:
                continue
            for axis in range(len(axes.network.shape(data))):
                if axis != split:
                    axes.same(data, axis, name, axis, why)
            if bounds is None:
                axes.fix_axis(name, split, f"{why} makes parts of sizes that are not known")
            else:
                part = axes.atoms(data, split)[bounds[index] : bounds[index + 1]]
                axes.tie(part, axes.atoms(name, split))
        if bounds is None:
            axes.fix_axis(data, split, f"{why} makes parts of sizes that are not known")

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """What is known of each part."""
        bounds = _bounds(node, facts.network)
        if bounds is None:
            return ()
        axis = axis_of(node, len(facts.network.shape(node.inputs[0])), 0)
        known = facts[node.inputs[0]]
        return [_taken(known, axis, np.arange(first, last)) for first, last in pairwise(bounds)]

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        split = axis_of(node, len(draft.before.shape(node.inputs[0])), 0)
        bounds, kept = _bounds(node, draft.before), draft.kept(node.inputs[0], split)
        if bounds is None or kept is None:
            return node
        sizes = np.diff(np.searchsorted(kept, bounds))
        made = draft.constant(f"{node.name}/sizes", integer_constant(sizes.tolist()))
        rest = {name: value for name, value in node.attributes.items() if name != "num_outputs"}
        return replace(node.with_input(1, made), attributes=rest)


def _bounds(node: Node, network: Network) -> list[int] | None:
    """Where each part of a Split begins, and the end; None where it is not known."""
    axis = axis_of(node, len(network.shape(node.inputs[0])), 0)
    size = network.shape(node.inputs[0])[axis]
    parts = len(node.outputs)
    if size is None:
        return None
    if node.input(1):
        given = network.integers(node.input(1))
        return None if given is None else [0, *np.cumsum(given).tolist()]
    each = -(-size // parts)
    return [min(part * each, size) for part in range(parts)] + [size]


class Slice(Rule):
    """A part of some axes; what lies outside is not read."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        data, result, why = node.inputs[0], node.outputs[0], str(node)
        for name in node.inputs[1:]:
            axes.fix_tensor(name, f"{why} reads positions from it")
        ranges = _ranges(node, axes.network)
        if ranges is None:
            for name in (data, result):
                axes.fix_tensor(name, f"{why} takes parts that are not known")
            return
        for axis in range(len(axes.network.shape(data))):
            if axis not in ranges:
                axes.same(data, axis, result, axis, why)
                continue
            taken = ranges[axis]
            if taken.step != 1:
                axes.fix_axis(data, axis, f"{why} takes every {taken.step}th position")
                axes.fix_axis(result, axis, f"{why} takes every {taken.step}th position")
            else:
                axes.tie(axes.atoms(data, axis)[taken.start : taken.stop], axes.atoms(result, axis))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """What is known of the part."""
        known, ranges = facts[node.inputs[0]], _ranges(node, facts.network)
        if ranges is None:
            return ()
        for axis, taken in ranges.items():
            known = _taken(known, axis, np.array(taken, np.int64))
        return (known,)

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        ranges = _ranges(node, draft.before)
        if ranges is None or all(draft.kept(node.inputs[0], axis) is None for axis in ranges):
            return node
        bounds = [list(draft.before.integers(node.inputs[index]) or ()) for index in (1, 2)]
        for index, (axis, taken) in enumerate(ranges.items()):
            kept = draft.kept(node.inputs[0], axis)
            if kept is not None:
                bounds[0][index], bounds[1][index] = np.searchsorted(kept, (taken.start, taken.stop)).tolist()
        for index, name in enumerate(("starts", "ends")):
            made = draft.constant(f"{node.name}/{name}", integer_constant(bounds[index]))
            node = node.with_input(index + 1, made)
        return node


def _ranges(node: Node, network: Network) -> dict[int, range] | None:
    """By axis the positions that a Slice takes; None where they are not known."""
    shape = network.shape(node.inputs[0])
    starts, stops = network.integers(node.inputs[1]), network.integers(node.inputs[2])
    if starts is None or stops is None:
        return None
    axes: tuple[int, ...] | None = tuple(range(len(starts)))
    steps: tuple[int, ...] | None = (1,) * len(starts)
    if node.input(3):
        axes = network.integers(node.input(3))
    if node.input(4):
        steps = network.integers(node.input(4))
    if axes is None or steps is None:
        return None
    found = {}
    for start, stop, axis, step in zip(starts, stops, axes, steps, strict=True):
        size = shape[axis]
        if size is None:
            return None
        found[axis % len(shape)] = range(*slice(start, stop, step).indices(size))
    return found


class Gather(Rule):
    """Positions picked along an axis by constant indices."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        data, result, why = node.inputs[0], node.outputs[0], str(node)
        shape = axes.network.shape(data)
        picked = axis_of(node, len(shape), 0)
        indices = _indices(node, axes.network)
        axes.fix_tensor(node.inputs[1], f"{why} reads indices from it")
        extra = len(axes.network.shape(node.inputs[1])) - 1
        for axis in range(len(shape)):
            if axis != picked:
                axes.same(data, axis, result, axis + (extra if axis > picked else 0), why)
        if indices is None or indices.ndim != 1:
            axes.fix_axis(data, picked, f"{why} picks positions that are not known or not in one row")
            for axis in range(picked, picked + extra + 1):
                axes.fix_axis(result, axis, f"{why} picks positions that are not known or not in one row")
            return
        axes.tie(axes.atoms(data, picked)[indices], axes.atoms(result, picked))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """What is known of the positions."""
        indices = _indices(node, facts.network)
        if indices is None or indices.ndim != 1:
            return ()
        axis = axis_of(node, len(facts.network.shape(node.inputs[0])), 0)
        return (_taken(facts[node.inputs[0]], axis, indices),)

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        indices = _indices(node, draft.before)
        axis = axis_of(node, len(draft.before.shape(node.inputs[0])), 0)
        kept = draft.kept(node.inputs[0], axis)
        if indices is None or kept is None:
            return node
        left = np.searchsorted(kept, indices[np.isin(indices, kept)])
        return node.with_input(1, draft.constant(f"{node.name}/indices", integer_constant(left.tolist())))


def _indices(node: Node, network: Network) -> Array | None:
    """Constant indices, counted from the front."""
    axis = axis_of(node, len(network.shape(node.inputs[0])), 0)
    indices, size = network.value(node.inputs[1]), network.shape(node.inputs[0])[axis]
    if indices is None or size is None:
        return None
    return np.where(indices < 0, indices + size, indices).astype(np.int64)


class Pad(Rule):
    """Constant padding adds positions that can leave; any other kind copies what must then stay."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        data, result, why = node.inputs[0], node.outputs[0], str(node)
        for name in node.inputs[1:]:
            axes.fix_tensor(name, f"{why} reads parameters from it")
        pads = _pads(node, axes.network)
        if pads is None:
            for name in (data, result):
                axes.fix_tensor(name, f"{why} pads by sizes that are not known")
            return
        for axis, (before, after) in enumerate(pads):
            size = axes.network.shape(data)[axis]
            if (before, after) == (0, 0):
                axes.same(data, axis, result, axis, why)
            elif size is None or min(before, after) < 0 or node.text("mode", "constant") != "constant":
                axes.fix_axis(data, axis, f"{why} pads this axis")
                axes.fix_axis(result, axis, f"{why} pads this axis")
            else:
                axes.tie(axes.atoms(data, axis), axes.atoms(result, axis)[before : before + size])

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """What is known of the data, and the constant around it."""
        pads, data = _pads(node, facts.network), facts[node.inputs[0]]
        fill = facts.constant(node.input(2)) if node.input(2) else np.zeros(())
        result = facts.network.tensors[node.outputs[0]]
        shape = facts.network.shape(node.inputs[0])
        if pads is None or fill is None or node.text("mode", "constant") != "constant":
            return ()
        if any(size is None for size, pad in zip(shape, pads, strict=True) if any(pad)):
            return ()
        if any(min(pad) < 0 for pad in pads):
            return ()
        (inner,) = facts.aligned(node.inputs[:1], len(shape)) if data is None else (data,)
        full = [
            (size or 0) if any(pad) else have
            for size, pad, have in zip(shape, pads, inner.value.shape, strict=True)
        ]
        value = np.pad(np.broadcast_to(inner.value, full), pads, constant_values=fill.reshape(()))
        mask = np.pad(np.broadcast_to(inner.mask, full), pads, constant_values=True)
        return (Known.of(value, mask, result.dtype),)

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        pads, data = _pads(node, draft.before), node.inputs[0]
        if pads is None:
            return node
        found = []
        for axis, (before, after) in enumerate(pads):
            kept = draft.kept(node.outputs[0], axis)
            size = draft.before.shape(data)[axis]
            if kept is None or size is None or (before, after) == (0, 0):
                found.append((before, after))
            else:
                found.append((int((kept < before).sum()), int((kept >= before + size).sum())))
        if found == pads:
            return node
        flat = [pair[side] for side in (0, 1) for pair in found]
        padded = node.with_input(1, draft.constant(f"{node.name}/pads", integer_constant(flat)))
        return padded.with_input(3, "") if node.input(3) else padded


def _pads(node: Node, network: Network) -> list[tuple[int, int]] | None:
    """Elements added before and after each axis; None where they are not known."""
    rank = len(network.shape(node.inputs[0]))
    given = network.integers(node.inputs[1])
    axes = network.integers(node.input(3)) if node.input(3) else tuple(range(rank))
    if given is None or axes is None:
        return None
    pads = [(0, 0)] * rank
    for index, axis in enumerate(axes):
        pads[axis] = given[index], given[index + len(axes)]
    return pads


RULES: Rules = {"Concat": Concat(), "Split": Split(), "Slice": Slice(), "Gather": Gather(), "Pad": Pad()}
