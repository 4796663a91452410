"""Variants that read parts of the largest one's constants in place of constants of their own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from serenity_mlir.reform.atoms import Indices
from serenity_mlir.reform.network import Array, Network, Node, Tensor
from serenity_mlir.reform.removal import Surgery

SHARED_FROM_BYTES = 256
"""Smaller constants are repeated: a slice would cost as much as they take."""

_MOST_RUNS = 8
"""What lies in more pieces than these is repeated: each piece is a copy at run time."""


def shared(largest: Surgery, variant: Surgery) -> Network:
    """The network of a variant whose large constants are slices of the largest variant's.

    Args:
        largest: What the largest variant loses.
        variant: What this one loses, of the same network: that, and more.

    Returns:
        The network with `Slice` nodes (and `Concat` where what is kept lies in several runs). Constants that
        the removal made anew, as biases that took up constants, are the variant's own, as are scales and zero
        points.
    """
    work = _Sharing(variant.after)
    parameters = {
        name
        for node in variant.after.nodes
        if node.op in ("QuantizeLinear", "DequantizeLinear")
        for name in node.inputs[1:]
    }
    for name, tensor in variant.after.tensors.items():
        kept = variant.kept.get(name)
        base = largest.after.tensors.get(name)
        if tensor.value is None or not kept or base is None or base.value is None:
            continue
        if base.value.nbytes < SHARED_FROM_BYTES or name in parameters:
            continue
        before = largest.kept.get(name, {})
        positions = {
            axis: np.searchsorted(before[axis], taken) if axis in before else taken
            for axis, taken in kept.items()
        }
        work.cut(name, base.value, positions)
    return work.network()


@dataclass
class _Sharing:
    """A network whose constants are replaced one by one."""

    before: Network
    parts: list[Node] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)

    def cut(self, name: str, base: Array, positions: dict[int, Indices]) -> None:
        """Take positions along each axis of a constant, unless they lie in too many runs."""
        taken = {axis: kept for axis, kept in positions.items() if len(kept) < base.shape[axis]}
        rows = {axis: _rows(kept, base.shape[axis]) for axis, kept in taken.items()}
        runs = {axis: _runs(kept[kept < base.shape[axis] // rows[axis]]) for axis, kept in taken.items()}
        if not taken or max(map(len, runs.values())) > _MOST_RUNS:
            return
        self.tensors[name] = Tensor.constant(name, base)
        # An axis of equal rows becomes two axes, and the cut is one of columns.
        split: list[int] = []
        place = {}
        for axis, size in enumerate(base.shape):
            place[axis] = len(split) + (rows.get(axis, 1) > 1)
            split += [rows[axis], size // rows[axis]] if rows.get(axis, 1) > 1 else [size]
        part = self._reshape(name, split) if len(split) > base.ndim else name
        single = {place[axis]: found[0] for axis, found in runs.items() if len(found) == 1}
        if single:
            part = self._slice(part, single)
        for axis, found in runs.items():
            if len(found) > 1:
                pieces = tuple(self._slice(part, {place[axis]: run}) for run in found)
                shape = self._shape(part)
                shape[place[axis]] = sum(last - first for first, last in found)
                part = self._add("Concat", pieces, shape, {"axis": place[axis]})
        if len(split) > base.ndim:
            part = self._reshape(
                part, [len(taken.get(axis, range(size))) for axis, size in enumerate(base.shape)]
            )
        self.renamed[name] = part

    def _reshape(self, name: str, shape: list[int]) -> str:
        return self._add("Reshape", (name, self._integers(name, shape)), shape, {})

    def _slice(self, name: str, runs: dict[int, tuple[int, int]]) -> str:
        columns = [[run[0] for run in runs.values()], [run[1] for run in runs.values()], list(runs)]
        bounds = [self._integers(name, column) for column in columns]
        shape = self._shape(name)
        for axis, (first, last) in runs.items():
            shape[axis] = last - first
        return self._add("Slice", (name, *bounds), shape, {})

    def _shape(self, name: str) -> list[int]:
        return [size for size in self.tensors[name].shape if size is not None]

    def _integers(self, name: str, values: list[int]) -> str:
        made = f"{name}/bounds{len(self.tensors)}"
        self.tensors[made] = Tensor.constant(made, np.array(values, np.int64))
        return made

    def _add(self, op: str, inputs: tuple[str, ...], shape: list[int], attributes: dict[str, int]) -> str:
        name = f"{inputs[0]}/part{len(self.parts)}"
        self.tensors[name] = Tensor(name, tuple(shape), self.tensors[inputs[0]].dtype)
        self.parts.append(Node(name, op, inputs, (name,), attributes))
        return name

    def network(self) -> Network:
        """The network with parts in place of constants."""
        nodes = tuple(
            replace(node, inputs=tuple(self.renamed.get(name, name) for name in node.inputs))
            if self.renamed.keys() & set(node.inputs)
            else node
            for node in self.before.nodes
        )
        return replace(
            self.before, nodes=(*self.parts, *nodes), tensors={**self.before.tensors, **self.tensors}
        )


def _runs(positions: Indices) -> list[tuple[int, int]]:
    """Ascending positions as ranges, first and one past the last."""
    breaks = np.flatnonzero(np.diff(positions) != 1) + 1
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(positions, breaks)]


def _rows(positions: Indices, size: int) -> int:
    """How many equal rows an axis is best taken as, each losing the same columns; 1 for none."""
    runs = len(_runs(positions))
    kept = np.zeros(size, np.bool_)
    kept[positions] = True
    for rows in range(runs, 1, -1):
        if size % rows == 0 and (kept.reshape(rows, -1) == kept[: size // rows]).all():
            return rows
    return 1
