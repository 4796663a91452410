"""Atoms: one for each position along each axis of each tensor, tied where they can only leave together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from serenity_mlir.reform.network import Network, Node

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Contraction:
    """A sum over an axis: what lies along it is read, and its atoms are not in the result.

    Attributes:
        node: The node that sums.
        data: The tensor that it reads.
        data_axis: Its axis of the sum.
        factor: The tensor whose elements the data is multiplied by.
        factor_axis: Its axis of the sum.
        zero: The element of the data that adds nothing: 0, or a zero point.
    """

    node: Node
    data: str
    data_axis: int
    factor: str
    factor_axis: int
    zero: float = 0.0


class AxisMap:
    """Ties between atoms, atoms that must stay, and sums over axes; rules fill it in, node by node.

    Attributes:
        network: What it is about.
        contractions: Every sum over an axis whose positions could be left out.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.contractions: list[Contraction] = []
        self._start: dict[tuple[str, int], int] = {}
        self._count = 0
        self._given: list[tuple[Indices, Indices]] = []
        self._ties: list[tuple[Indices, Indices]] = []
        self._fixed: list[tuple[Indices, str]] = []
        self._roots: Indices | None = None
        for tensor in network.tensors.values():
            for axis, size in enumerate(tensor.shape):
                if size is not None:
                    self._start[tensor.name, axis] = self._count
                    self._count += size

    @property
    def axes(self) -> Mapping[tuple[str, int], int]:
        """The axes of known size, in the order of the network's tensors, and each one's first atom."""
        return self._start

    def atoms(self, tensor: str, axis: int) -> Indices:
        """The atoms along an axis; none where its size is not known."""
        size = self.network.shape(tensor)[axis]
        if size is None:
            return np.arange(0)
        start = self._start[tensor, axis]
        return np.arange(start, start + size)

    def tie(self, one: Indices, other: Indices) -> None:
        """Atoms that leave together, pair by pair; the arrays broadcast."""
        one, other = np.broadcast_arrays(one, other)
        self._ties.append((one.ravel(), other.ravel()))
        self._given.append(self._ties[-1])
        self._roots = None

    def ties(self) -> tuple[Indices, Indices]:
        """Every pair of atoms that a rule tied, in the direction in which it did."""
        nothing = np.arange(0)
        pairs = self._given or [(nothing, nothing)]
        return np.concatenate([one for one, _ in pairs]), np.concatenate([other for _, other in pairs])

    def fix(self, atoms: Indices, reason: str) -> None:
        """Atoms that must stay."""
        self._fixed.append((atoms.ravel(), reason))

    def fix_axis(self, tensor: str, axis: int, reason: str) -> None:
        """An axis that must stay as it is."""
        self.fix(self.atoms(tensor, axis), reason)

    def fix_tensor(self, tensor: str, reason: str) -> None:
        """A tensor that must stay as it is; "" is none."""
        if tensor:
            for axis in range(len(self.network.shape(tensor))):
                self.fix_axis(tensor, axis, reason)

    def same(self, one: str, axis: int, other: str, other_axis: int, why: str) -> None:
        """Two axes whose positions correspond one to one; both stay where their sizes do not show it.

        Args:
            one: A tensor.
            axis: Its axis.
            other: Another tensor, or the same.
            other_axis: Its axis.
            why: Which node it is that makes them correspond.
        """
        sizes = self.network.shape(one)[axis], self.network.shape(other)[other_axis]
        if sizes[0] == sizes[1]:
            if sizes[0] is not None:
                self.tie(self.atoms(one, axis), self.atoms(other, other_axis))
            return
        reason = f"{why} has axes of sizes {sizes[0]} and {sizes[1]} that should be one"
        self.fix_axis(one, axis, reason)
        self.fix_axis(other, other_axis, reason)

    def roots(self) -> Indices:
        """For each atom the first of those that it is tied to, directly or not."""
        if self._roots is None:
            self._roots = _components(self._count, self._ties)
            # One tie to the root says all that the ties so far say.
            self._ties = [(np.arange(self._count), self._roots)]
        return self._roots

    def fixed(self) -> npt.NDArray[np.bool_]:
        """For each root whether its atoms must stay (False at atoms that are no roots)."""
        roots = self.roots()
        found = np.zeros(self._count, np.bool_)
        for atoms, _ in self._fixed:
            found[roots[atoms]] = True
        return found

    def reasons(self) -> dict[int, list[str]]:
        """Why atoms must stay, by root; each reason once."""
        roots = self.roots()
        found: dict[int, list[str]] = {}
        for atoms, reason in self._fixed:
            for root in np.unique(roots[atoms]).tolist():
                known = found.setdefault(root, [])
                if reason not in known:
                    known.append(reason)
        return found


def _components(count: int, ties: list[tuple[Indices, Indices]]) -> Indices:
    """The least member of each component, by hooking roots to the least neighbour and pointer jumping."""
    label = np.arange(count)
    if not ties:
        return label
    one = np.concatenate([pair[0] for pair in ties])
    other = np.concatenate([pair[1] for pair in ties])
    while True:
        ends = label[one], label[other]
        open_ties = ends[0] != ends[1]
        if not open_ties.any():
            return label
        one, other = one[open_ties], other[open_ties]
        least = np.minimum(ends[0][open_ties], ends[1][open_ties])
        np.minimum.at(label, ends[0][open_ties], least)
        np.minimum.at(label, ends[1][open_ties], least)
        while True:
            jumped = label[label]
            if np.array_equal(jumped, label):
                break
            label = jumped
