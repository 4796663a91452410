"""The removal of masked channels: what leaves, what must stay masked, and the network that is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from serenity_mlir.reform.atoms import AxisMap, Contraction, Indices
from serenity_mlir.reform.axes.registry import rule_of
from serenity_mlir.reform.draft import Draft
from serenity_mlir.reform.gates import Gates, check_gates, gate_axis, quantised_zero
from serenity_mlir.reform.groups import axis_map, source_tensors
from serenity_mlir.reform.known import Facts
from serenity_mlir.reform.network import Array, Network
from serenity_mlir.reform.propagate import find_facts


@dataclass(frozen=True, slots=True)
class Refusal:
    """Channels that are masked and stay where they are, with zeros in them.

    Attributes:
        tensor: The gated tensor.
        channels: Their positions in it, before anything is removed.
        reason: Which node keeps them there, and why.
    """

    tensor: str
    channels: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Surgery:
    """Channels removed from a network.

    Attributes:
        before: The network as it was.
        after: The network without them; nodes that did not change are the same objects.
        kept: By tensor and axis, the positions that are left, ascending; only where some were removed.
        refused: What was asked for and not done.
    """

    before: Network
    after: Network
    kept: Mapping[str, Mapping[int, Indices]]
    refused: tuple[Refusal, ...] = ()


def plan_removal(network: Network, gates: Gates, *, constants: bool = False) -> Surgery:
    """Removes masked channels, so that what is left equals the masked network.

    A channel leaves together with all that it is tied to, where each sum that reads it finds a constant
    there: zero, or one that its bias takes up. What cannot leave keeps its place, with zeros in its filters
    or behind a multiplication.

    Args:
        network: What channels are removed from.
        gates: Which channels are multiplied by zero.
        constants: Also remove channels that hold one value in every run without a gate, as those of a batch
            normalisation whose scale is zero.

    Raises:
        SerenityError: A gate does not fit the network.
    """
    check_gates(network, gates)
    axes, facts = axis_map(network), find_facts(network, gates)
    choice = _Choice(network, axes, facts, gates)
    if constants:
        choice.ask_for_constants()
    for contraction in axes.contractions:
        choice.check_sum(contraction)
    choice.keep_last_channels()
    kept = choice.kept()
    draft = Draft(network, kept)
    for contraction in axes.contractions:
        added = choice.folded(contraction)
        if added is not None:
            name = contraction.node.name
            draft.nodes[name] = rule_of(contraction.node, network).with_bias(draft.nodes[name], added, draft)
    masks = _silence(draft, choice.left_masked())
    for node in network.nodes:
        if any(name in kept for name in (*node.inputs, *node.outputs)):
            draft.nodes[node.name] = rule_of(node, network).edit(draft.nodes[node.name], draft)
    return Surgery(network, draft.finished(masks), kept, tuple(choice.refusals()))


def _silence(draft: Draft, masked: Gates) -> Gates:
    """Puts zeros in the constants behind masked channels; returns the gates where that cannot be done."""
    network, open_gates = draft.before, {}
    for name, keep in masked.items():
        node = network.producers[name]
        quiet = None
        if name == node.outputs[0] and quantised_zero(network, name) == 0:
            channels = np.flatnonzero(~keep)
            quiet = rule_of(node, network).silenced(draft.nodes[node.name], channels, draft)
        if quiet is None:
            open_gates[name] = keep
        else:
            draft.nodes[node.name] = quiet
    return open_gates


@dataclass
class _Choice:
    """Which of the atoms that gates ask for leave."""

    network: Network
    axes: AxisMap
    facts: Facts
    gates: Gates
    blocked: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.roots = self.axes.roots()
        self.fixed = self.axes.fixed()
        self.leaves = np.zeros(len(self.roots), np.bool_)
        for name, keep in self.gates.items():
            self.leaves[self._gate(name)[~keep]] = True
        self.leaves &= ~self.fixed

    def _gate(self, name: str) -> Indices:
        """The root of each channel of a gated tensor."""
        return self.roots[self.axes.atoms(name, gate_axis(self.network, name))]

    def ask_for_constants(self) -> None:
        """Take in every channel of a layer that is not read but by sums, which are looked at next."""
        for name in source_tensors(self.network):
            self.leaves[self.roots[self.axes.atoms(name, gate_axis(self.network, name))]] = True
        self.leaves &= ~self.fixed

    def _block(self, roots: Indices, reason: str) -> None:
        self.leaves[roots] = False
        for root in roots.tolist():
            self.blocked.setdefault(root, reason)

    def check_sum(self, contraction: Contraction) -> None:
        """Keep what a sum reads and cannot do without."""
        open_positions = self._open(contraction)
        if not open_positions.any():
            return
        node = contraction.node
        roots = self._positions(contraction)
        _, constant = self._values(contraction)
        self._block(roots[open_positions & ~constant], f"{node} reads it, and it is not constant there")
        refusal = rule_of(node, self.network).why_not_folded(node, self.facts)
        if refusal is not None:
            self._block(
                roots[open_positions & constant], f"it holds a constant that is not zero, and {refusal}"
            )

    def folded(self, contraction: Contraction) -> Array | None:
        """What a sum over channels that leave adds to the bias of its node; None for nothing."""
        open_positions = self._open(contraction)
        if not open_positions.any():
            return None
        values, _ = self._values(contraction)
        values = np.where(open_positions, values, 0).astype(np.float64)
        return rule_of(contraction.node, self.network).folded(contraction, self.facts, values)

    def _positions(self, contraction: Contraction) -> Indices:
        return self.roots[self.axes.atoms(contraction.data, contraction.data_axis)]

    def _open(self, contraction: Contraction) -> npt.NDArray[np.bool_]:
        """The positions that leave and add something other than zero."""
        leaves = self.leaves[self._positions(contraction)]
        if not leaves.any():
            return leaves
        size = len(leaves)
        silent = self.facts.zeros_along(contraction.data, contraction.data_axis, size, contraction.zero)
        factor = self.network.tensors[contraction.factor]
        if factor.shape[contraction.factor_axis] == size and factor.dtype.startswith(("float", "bfloat")):
            silent = silent | self.facts.zeros_along(contraction.factor, contraction.factor_axis, size, 0)
        return leaves & ~silent

    def _values(self, contraction: Contraction) -> tuple[Array, npt.NDArray[np.bool_]]:
        size = len(self._positions(contraction))
        known = self.facts[contraction.data]
        if known is None:
            return np.zeros(size), np.zeros(size, np.bool_)
        return known.along(contraction.data_axis, size)

    def keep_last_channels(self) -> None:
        """Keep one position of every axis."""
        again = True
        while again:
            again = False
            for tensor, axis in self.axes.axes:
                roots = self.roots[self.axes.atoms(tensor, axis)]
                if len(roots) and self.leaves[roots].all():
                    self._block(roots[:1], f"no other channel of '{tensor}' is left")
                    again = True

    def kept(self) -> dict[str, dict[int, Indices]]:
        """By tensor and axis the positions that are left, where some are not."""
        found: dict[str, dict[int, Indices]] = {}
        for tensor, axis in self.axes.axes:
            leaves = self.leaves[self.roots[self.axes.atoms(tensor, axis)]]
            if leaves.any():
                found.setdefault(tensor, {})[axis] = np.flatnonzero(~leaves)
        return found

    def left_masked(self) -> Gates:
        """The gates of channels that do not leave."""
        masked = {name: keep | self.leaves[self._gate(name)] for name, keep in self.gates.items()}
        return {name: keep for name, keep in masked.items() if not keep.all()}

    def refusals(self) -> list[Refusal]:
        """What was asked for and does not leave, by tensor and reason."""
        reasons = self.axes.reasons()
        found = []
        for name, keep in self.left_masked().items():
            roots, by_reason = self._gate(name), dict[str, list[int]]()
            for channel in np.flatnonzero(~keep).tolist():
                root = int(roots[channel])
                reason = self.blocked[root] if root in self.blocked else reasons[root][0]
                by_reason.setdefault(reason, []).append(channel)
            found += [Refusal(name, tuple(channels), reason) for reason, channels in by_reason.items()]
        return found
