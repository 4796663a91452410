"""Channels in an order in which every smaller variant keeps the first ones of what a larger one keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from serenity_mlir.errors import SerenityError
from serenity_mlir.reform.atoms import AxisMap, Indices
from serenity_mlir.reform.groups import ChannelGroup, GroupMasks, axis_map
from serenity_mlir.reform.network import Network

Order = Mapping[tuple[str, int], Indices]
"""By tensor and axis: which position goes to each place."""


def check_nested(groups: Sequence[ChannelGroup], variants: Sequence[GroupMasks]) -> None:
    """Refuse variants of which one keeps a channel that the one before it drops.

    Raises:
        SerenityError: They are not nested, or a mask does not fit its group.
    """
    for group in groups:
        masks = [variant[group.id] for variant in variants if group.id in variant]
        if any(mask.shape != (group.size,) for mask in masks):
            raise SerenityError(f"a mask has not {group.size} entries", where=f"channel group {group.id}")
        kept = [_kept(group, variant) for variant in variants]
        for larger, smaller in pairwise(kept):
            if (smaller & ~larger).any():
                raise SerenityError(
                    "a smaller variant keeps channels that a larger one drops",
                    where=f"channel group {group.id} ({', '.join(group.sources)})",
                    hint="order variants from the largest; each drops what the one before it drops, and more",
                )


def nested_order(network: Network, groups: Sequence[ChannelGroup], variants: Sequence[GroupMasks]) -> Order:
    """One permutation for each group of tied channels, those first that most variants keep.

    Only channels that lie in the same tensors change places, and only where every tie between positions is
    one between the new positions, too: elsewhere channels stay as they are.

    Args:
        network: What the groups are of.
        groups: `channel_groups(network)`.
        variants: The largest first.
    """
    axes = axis_map(network)
    chosen = {}
    for group in groups:
        votes = np.sum([_kept(group, variant) for variant in variants], axis=0)
        sources = _by_votes(group, votes)
        if not np.array_equal(sources, np.arange(group.size)):
            chosen[group.id] = (group, sources)
    while True:
        order = _positions(axes, [_moved(group, sources) for group, sources in chosen.values()])
        broken = _broken(axes, order)
        bad = [
            number
            for number, (group, _) in chosen.items()
            if any(broken[axes.atoms(item.tensor, item.axis)].any() for item in group.members)
        ]
        if not bad:
            break
        for number in bad:
            del chosen[number]
    return {
        (member.tensor, member.axis): order[axes.atoms(member.tensor, member.axis)]
        - axes.axes[member.tensor, member.axis]
        for group, _ in chosen.values()
        for member in group.members
    }


def permuted(network: Network, order: Order) -> Network:
    """The network with constants in another order of channels; it computes the same."""
    tensors = dict(network.tensors)
    for (name, axis), positions in order.items():
        value = tensors[name].value
        if value is not None:
            tensors[name] = replace(tensors[name], value=np.take(value, positions, axis))
    return replace(network, tensors=tensors)


def _kept(group: ChannelGroup, variant: GroupMasks) -> npt.NDArray[np.bool_]:
    return variant.get(group.id, np.ones(group.size, np.bool_))


def _by_votes(group: ChannelGroup, votes: Indices) -> Indices:
    """Which channel takes the place of each: among those of the same tensors, most votes first."""
    counts = [
        np.bincount(member.channels[member.channels >= 0], minlength=group.size) for member in group.members
    ]
    kinds: dict[tuple[int, ...], list[int]] = {}
    for channel, signature in enumerate(zip(*(each.tolist() for each in counts), strict=True)):
        kinds.setdefault(signature, []).append(channel)
    sources = np.arange(group.size)
    for channels in kinds.values():
        sources[channels] = sorted(channels, key=lambda channel: -votes[channel])
    return sources


def _moved(group: ChannelGroup, sources: Indices) -> list[tuple[str, int, Indices]]:
    """For each member which position goes to each place: the n-th of a channel to the n-th of the other."""
    found = []
    for member in group.members:
        places = [np.flatnonzero(member.channels == channel) for channel in range(group.size)]
        positions = np.arange(len(member.channels))
        for channel, source in enumerate(sources.tolist()):
            positions[places[channel]] = places[source]
        found.append((member.tensor, member.axis, positions))
    return found


def _positions(axes: AxisMap, moved: Sequence[Sequence[tuple[str, int, Indices]]]) -> Indices:
    """For each atom the one that takes its place."""
    order = np.arange(len(axes.roots()))
    for members in moved:
        for tensor, axis, positions in members:
            atoms = axes.atoms(tensor, axis)
            changed = positions != np.arange(len(positions))
            order[atoms[changed]] = atoms[positions[changed]]
    return order


def _broken(axes: AxisMap, order: Indices) -> npt.NDArray[np.bool_]:
    """The atoms of ties that are none any more once atoms have changed places."""
    one, other = axes.ties()
    count = len(order)
    pairs = np.unique(one * count + other)
    wrong = ~np.isin(order[one] * count + order[other], pairs)
    broken = np.zeros(count, np.bool_)
    broken[one[wrong]] = broken[other[wrong]] = True
    return broken
