"""Channel groups: the channels that axis maps tie together, and why some of them must stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from serenity_mlir.reform.atoms import AxisMap, Indices
from serenity_mlir.reform.axes.registry import rule_of
from serenity_mlir.reform.axes.shape import Reshape
from serenity_mlir.reform.gates import Gates, gate_axis
from serenity_mlir.reform.network import Network, Node

_WEIGHTS = {
    "Conv": 1,
    "ConvTranspose": 1,
    "ConvInteger": 1,
    "QLinearConv": 3,
    "Gemm": 1,
    "MatMul": 1,
    "MatMulInteger": 1,
    "QLinearMatMul": 3,
}
"""The ops that give a network its channels, and which of their inputs the weights are."""

_AFFINE = ("Add", "Sub", "Mul", "Div")


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """Where the channels of a group lie in one tensor.

    Attributes:
        tensor: Its name.
        axis: One of its axes.
        channels: For each position along that axis the channel it belongs to, -1 for another group's.
    """

    tensor: str
    axis: int
    channels: Indices


@dataclass(frozen=True, slots=True, eq=False)
class ChannelGroup:
    """Channels of one layer or of several that are tied, each of which can be removed on its own.

    Attributes:
        id: Counts from 0 in the order in which the network makes the groups.
        size: How many channels it has.
        sources: Tensors whose making gives the group its channels: outputs of convolutions and products.
        members: Every tensor and axis that shrinks when a channel is removed, weights included.
        barriers: Why no channel of it can be removed; empty for a group that can be pruned.
    """

    id: int
    size: int
    sources: tuple[str, ...]
    members: tuple[Member, ...]
    barriers: tuple[str, ...] = ()

    @property
    def prunable(self) -> bool:
        """Whether its channels can be removed."""
        return not self.barriers


GroupMasks = Mapping[int, npt.NDArray[np.bool_]]
"""By group's id: whether each of its channels is kept."""


def axis_map(network: Network) -> AxisMap:
    """Everything that the rules say about a network."""
    axes = AxisMap(network)
    for name in network.inputs:
        axes.fix_tensor(name, f"'{name}' is an input of the network")
    for name in network.outputs:
        axes.fix_tensor(name, f"'{name}' is an output of the network")
    rules = [(node, rule_of(node, network)) for node in network.nodes]
    for node, rule in rules:
        rule.link(node, axes)
    for node, rule in rules:
        if isinstance(rule, Reshape):
            rule.link_blocks(node, axes)
    return axes


def channel_groups(network: Network) -> tuple[ChannelGroup, ...]:
    """The groups of channels that a network's convolutions and products make, in the network's order.

    Channels that must stay are groups of their own, which say why in `barriers`.
    """
    axes = axis_map(network)
    roots, fixed = axes.roots(), axes.fixed()
    made = {name: roots[axes.atoms(name, gate_axis(network, name))] for name in source_tensors(network)}
    reasons = axes.reasons()
    place = np.full(len(roots), -1)
    drafts: list[tuple[list[str], list[int]]] = []
    for names in _sharing(made):
        every = np.concatenate([made[name] for name in names])
        for stays in (False, True):
            channels = list(dict.fromkeys(every[fixed[every] == stays].tolist()))
            if channels:
                place[channels] = len(drafts)
                touched = [name for name in names if np.isin(made[name], channels).any()]
                drafts.append((touched, channels))
    members = _members(axes, place, [channels for _, channels in drafts])
    return tuple(
        ChannelGroup(
            index,
            len(channels),
            tuple(names),
            tuple(members[index]),
            tuple(dict.fromkeys(reason for root in channels for reason in reasons.get(root, ()))),
        )
        for index, (names, channels) in enumerate(drafts)
    )


def gates_of(network: Network, masks: GroupMasks, groups: tuple[ChannelGroup, ...] | None = None) -> Gates:
    """The gates that mask channels of groups, each right behind the bias or batch normalisation of its layer.

    Args:
        network: What the groups are of.
        masks: For each group that loses channels whether each channel is kept.
        groups: `channel_groups(network)`, where that is at hand.
    """
    gates: dict[str, npt.NDArray[np.bool_]] = {}
    for group in channel_groups(network) if groups is None else groups:
        if group.id not in masks or masks[group.id].all():
            continue
        channels = {(member.tensor, member.axis): member.channels for member in group.members}
        for source in group.sources:
            own = channels[source, gate_axis(network, source)]
            keep = np.where(own >= 0, masks[group.id][own], True)
            name = gated_tensor(network, source)
            gates[name] = gates[name] & keep if name in gates else keep
    return gates


def gated_tensor(network: Network, source: str) -> str:
    """Where the gate of a layer belongs: behind constant biases, scales and a normalisation."""
    while source not in network.outputs and len(network.consumers[source]) == 1:
        (node,) = network.consumers[source]
        others = [name for name in node.inputs if name and name != source]
        constant = all(name in network.constants for name in others)
        follows = node.op == "BatchNormalization" or (node.op in _AFFINE and node.inputs[0] != node.inputs[1])
        if not (follows and constant and network.shape(node.outputs[0]) == network.shape(source)):
            break
        source = node.outputs[0]
    return source


def source_tensors(network: Network) -> list[str]:
    """Outputs of convolutions and products with constant weights: where a network's channels come from."""
    return [
        node.outputs[0]
        for node in network.nodes
        if _weight(node) in network.constants
        and node.outputs[0] not in network.constants
        and network.tensors[node.outputs[0]].ranked
    ]


def _weight(node: Node) -> str | None:
    return node.inputs[_WEIGHTS[node.op]] if node.op in _WEIGHTS else None


def _sharing(made: Mapping[str, Indices]) -> list[list[str]]:
    """Sources in sets that share an atom, in order of their first."""
    owner: dict[int, int] = {}
    sets: list[list[str]] = []
    for name, roots in made.items():
        old = sorted({owner[root] for root in roots.tolist() if root in owner})
        target = old[0] if old else len(sets)
        if not old:
            sets.append([])
        for other in old[1:]:
            sets[target] += sets[other]
            sets[other] = []
        sets[target].append(name)
        owner.update((root, target) for root in roots.tolist())
        owner.update((root, target) for root, index in owner.items() if index in old)
    return [names for names in sets if names]


def _members(axes: AxisMap, place: Indices, channels: list[list[int]]) -> list[list[Member]]:
    roots = axes.roots()
    number = np.full(len(roots), -1)
    for group in channels:
        number[group] = np.arange(len(group))
    members: list[list[Member]] = [[] for _ in channels]
    for tensor, axis in axes.axes:
        own = roots[axes.atoms(tensor, axis)]
        for index in np.unique(place[own]).tolist():
            if index >= 0:
                mine = np.where(place[own] == index, number[own], -1)
                members[index].append(Member(tensor, axis, mine))
    return members
