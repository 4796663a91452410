"""Ops that move elements without changing them: Reshape and what is like it, Transpose, Expand."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.reform.atoms import AxisMap, Indices
from serenity_mlir.reform.axes.rule import Rule, Rules, integer_constant, link_broadcast
from serenity_mlir.reform.known import Facts, Known
from serenity_mlir.reform.network import Network, Node

if TYPE_CHECKING:
    from serenity_mlir.reform.draft import Draft

Shape = tuple[int | None, ...]
Block = tuple[tuple[int, ...], tuple[int, ...]]
"""Axes of the operand, and the axes of the result that hold the same elements in the same order."""


class Reshape(Rule):
    """Any op that keeps elements in their order: Reshape, Flatten, Squeeze, Unsqueeze.

    Axes that merge into one, or that one is split into, can lose positions along one of them only, or what is
    left would be no box. Which one is decided when everything else is tied: see `link_blocks`.
    """

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        for name in node.inputs[1:]:
            axes.fix_tensor(name, f"{node} reads its shape or axes from it")
        blocks = blocks_of(node, axes.network)
        if blocks is None or (node.op == "Reshape" and axes.network.value(node.inputs[1]) is None):
            for name in (node.inputs[0], node.outputs[0]):
                axes.fix_tensor(name, f"{node} moves axes whose sizes are not known")
            return
        for ours, theirs in blocks:
            if len(ours) == len(theirs) == 1:
                axes.same(node.inputs[0], ours[0], node.outputs[0], theirs[0], str(node))

    def link_blocks(self, node: Node, axes: AxisMap) -> None:
        """Ties the axes that merge or split, once the other rules have tied theirs.

        Of those on the side of several, the one stays free that leaves the most channels apart.
        """
        for ours, theirs in blocks_of(node, axes.network) or ():
            if len(ours) == len(theirs) == 1 or not (ours or theirs):
                continue
            sides = [(node.inputs[0], ours), (node.outputs[0], theirs)]
            if len(theirs) > len(ours):
                sides.reverse()
            (several, many), (single, one) = sides
            if len(one) != 1:
                for name, part in sides:
                    for axis in part:
                        axes.fix_axis(name, axis, f"{node} regroups several axes at once")
            else:
                _link_block(node, axes, several, many, axes.atoms(single, one[0]))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """The same elements in another shape."""
        known, blocks = facts[node.inputs[0]], blocks_of(node, facts.network)
        if known is None or blocks is None:
            return ()
        before, after = facts.network.shape(node.inputs[0]), facts.network.shape(node.outputs[0])
        spread, shape = list(known.value.shape), [1] * len(after)
        for ours, theirs in blocks:
            if all(spread[axis] == 1 for axis in ours):
                continue
            for axis in ours:
                spread[axis] = before[axis] or 1
            for axis in theirs:
                shape[axis] = after[axis] or 1
        value = np.broadcast_to(known.value, spread).reshape(shape)
        return (Known(value, np.broadcast_to(known.mask, spread).reshape(shape)),)

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        result = node.outputs[0]
        wanted = draft.before.integers(node.inputs[1]) if node.op == "Reshape" else None
        cut = {axis: draft.kept(result, axis) for axis in range(len(draft.before.shape(result)))}
        if wanted is None or all(kept is None for kept in cut.values()):
            return node
        sizes = [size if (kept := cut[axis]) is None else len(kept) for axis, size in enumerate(wanted)]
        return node.with_input(1, draft.constant(f"{node.name}/shape", integer_constant(sizes)))


def _link_block(node: Node, axes: AxisMap, several: str, many: tuple[int, ...], single: Indices) -> None:
    shape = [axes.network.shape(several)[axis] for axis in many]
    sizes = [size for size in shape if size is not None]
    if len(sizes) < len(shape) or prod(sizes) != len(single):
        axes.fix(single, f"{node} regroups axes whose sizes are not known")
        for axis in many:
            axes.fix_axis(several, axis, f"{node} regroups axes whose sizes are not known")
        return
    box = single.reshape(sizes)
    roots, fixed = axes.roots(), axes.fixed()
    every = range(len(many))
    free = [index for index in every if not fixed[roots[axes.atoms(several, many[index])]].all()]
    # Where all axes stay, the tie is there to say why.
    chosen = max(free or every, key=lambda index: (_apart(roots[np.moveaxis(box, index, 0)]), -index))
    for index, axis in enumerate(many):
        if index == chosen:
            lead = (-1, *(1,) * (len(many) - 1))
            axes.tie(axes.atoms(several, axis).reshape(lead), np.moveaxis(box, index, 0))
        else:
            axes.fix_axis(several, axis, f"{node} regroups axes of which one can lose positions")


def _apart(rows: Indices) -> int:
    """How many sets of rows are left if rows with a member in common are one."""
    rows = rows.reshape(len(rows), -1)
    first: dict[int, int] = {}
    owner = list(range(len(rows)))

    def find(row: int) -> int:
        while owner[row] != row:
            row = owner[row]
        return row

    for row, members in enumerate(rows):
        for member in set(members.tolist()):
            owner[find(row)] = find(first.setdefault(member, row))
    return len({find(row) for row in range(len(rows))})


def blocks_of(node: Node, network: Network) -> list[Block] | None:
    """How the axes of a Reshape correspond, axes of size 1 left out; None where that is not known."""
    before, after = network.shape(node.inputs[0]), network.shape(node.outputs[0])
    if node.op in ("Squeeze", "Unsqueeze") and before.count(None) == after.count(None):
        left = [axis for axis, size in enumerate(before) if size != 1]
        right = [axis for axis, size in enumerate(after) if size != 1]
        return [((one,), (other,)) for one, other in zip(left, right, strict=True)]
    return blocks(before, after)


def blocks(before: Shape, after: Shape) -> list[Block] | None:
    """The finest way to cut two shapes of the same elements into blocks of equal products.

    Axes of size 1 are left out. At most one size may be unknown on each side, and is then the same.
    """
    left = [axis for axis, size in enumerate(before) if size != 1]
    right = [axis for axis, size in enumerate(after) if size != 1]
    unknown = before.count(None), after.count(None)
    known = (
        prod(size for size in before if size is not None),
        prod(size for size in after if size is not None),
    )
    if unknown[0] != unknown[1] or unknown[0] > 1 or known[0] != known[1]:
        return None
    found: list[Block] = []
    first = second = 0
    while first < len(left) or second < len(right):
        ours: list[int] = []
        theirs: list[int] = []
        while True:
            one = _product(before, ours), _product(after, theirs)
            if ours and theirs and one[0] == one[1]:
                break
            grow_left = not ours or (theirs and one[0] < one[1])
            if (first if grow_left else second) >= len(left if grow_left else right):
                return None
            if grow_left:
                ours.append(left[first])
                first += 1
            else:
                theirs.append(right[second])
                second += 1
        found.append((tuple(ours), tuple(theirs)))
    return found


def _product(shape: Shape, axes: list[int]) -> tuple[int, int]:
    sizes = [shape[axis] for axis in axes]
    return sizes.count(None), prod(size for size in sizes if size is not None)


class Transpose(Rule):
    """Axes in another order."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        for axis, source in enumerate(_permutation(node, axes.network)):
            axes.same(node.inputs[0], source, node.outputs[0], axis, str(node))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """The same elements in another order."""
        known = facts[node.inputs[0]]
        if known is None:
            return ()
        order = _permutation(node, facts.network)
        return (Known(known.value.transpose(order), known.mask.transpose(order)),)


def _permutation(node: Node, network: Network) -> tuple[int, ...]:
    rank = len(network.shape(node.inputs[0]))
    return node.integers("perm") or tuple(reversed(range(rank)))


class Expand(Rule):
    """Elements repeated along axes of size 1."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        axes.fix_tensor(node.inputs[1], f"{node} reads its shape from it")
        if axes.network.value(node.inputs[1]) is None:
            for name in (node.inputs[0], node.outputs[0]):
                axes.fix_tensor(name, f"{node} expands to a shape that is not known")
            return
        link_broadcast(node, node.inputs[:1], axes)

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """What is repeated is as known as it was."""
        return tuple(facts.aligned(node.inputs[:1], len(facts.network.shape(node.outputs[0]))))

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        result = node.outputs[0]
        wanted = list(draft.before.integers(node.inputs[1]) or ())
        lead = len(draft.before.shape(result)) - len(wanted)
        sizes = list(wanted)
        for axis in range(len(wanted)):
            kept = draft.kept(result, lead + axis)
            if kept is not None and wanted[axis] != 1:
                sizes[axis] = len(kept)
        if sizes == wanted:
            return node
        return node.with_input(1, draft.constant(f"{node.name}/shape", integer_constant(sizes)))


class ConstantOfShape(Rule):
    """One value in every element of a shape that is given."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        axes.fix_tensor(node.inputs[0], f"{node} reads its shape from it")
        if axes.network.value(node.inputs[0]) is None:
            axes.fix_tensor(node.outputs[0], f"{node} makes a shape that is not known")

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """The value."""
        fill = node.attributes.get("value", np.zeros(1, np.float32))
        rank = len(facts.network.shape(node.outputs[0]))
        return (Known.all(np.asarray(fill).reshape((1,) * rank)),)

    def edit(self, node: Node, draft: Draft) -> Node:
        """The node after the cut."""
        sizes = list(draft.before.integers(node.inputs[0]) or ())
        cut = [draft.kept(node.outputs[0], axis) for axis in range(len(sizes))]
        if all(kept is None for kept in cut):
            return node
        sizes = [size if kept is None else len(kept) for size, kept in zip(sizes, cut, strict=True)]
        return node.with_input(0, draft.constant(f"{node.name}/shape", integer_constant(sizes)))


RULES: Rules = {
    "Reshape": Reshape(),
    "Flatten": Reshape(),
    "Squeeze": Reshape(),
    "Unsqueeze": Reshape(),
    "Transpose": Transpose(),
    "Expand": Expand(),
    "ConstantOfShape": ConstantOfShape(),
}
