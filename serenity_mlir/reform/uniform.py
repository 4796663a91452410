"""Groups parted so that all channels of one cost the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from serenity_mlir.reform.groups import ChannelGroup, GroupMasks, Member


def uniform_groups(groups: Sequence[ChannelGroup]) -> tuple[ChannelGroup, ...]:
    """The groups that can be pruned, in parts whose channels hold as much of each tensor as each other.

    Where a Split or a Concat takes some channels of a layer and leaves others, a channel costs as much as
    what reads it. In each part costs are a function of how many channels are kept.

    Returns:
        Groups numbered from 0, for `gates_of` as well as for costs.
    """
    return tuple(_part(group, channels, number) for number, (group, channels) in enumerate(_parts(groups)))


def whole_masks(groups: Sequence[ChannelGroup], masks: GroupMasks) -> dict[int, npt.NDArray[np.bool_]]:
    """Masks of the groups themselves, of masks of all their parts.

    Args:
        groups: Of which `uniform_groups` made parts.
        masks: By part.
    """
    found = {group.id: np.ones(group.size, dtype=bool) for group in groups if group.prunable}
    for number, (group, channels) in enumerate(_parts(groups)):
        found[group.id][channels] = masks[number]
    return found


def _parts(groups: Sequence[ChannelGroup]) -> list[tuple[ChannelGroup, npt.NDArray[np.intp]]]:
    """For each part the group that it is of, and which of its channels."""
    parts = []
    for group in groups:
        if not group.prunable:
            continue
        held = np.stack(
            [
                np.bincount(member.channels[member.channels >= 0], minlength=group.size)
                for member in group.members
            ]
        )
        _, kind = np.unique(held, axis=1, return_inverse=True)
        kinds = kind.ravel()
        parts += [(group, np.flatnonzero(kinds == index)) for index in dict.fromkeys(kinds.tolist())]
    return parts


def _part(group: ChannelGroup, channels: npt.NDArray[np.intp], number: int) -> ChannelGroup:
    """Those channels of a group, as a group of their own."""
    if len(channels) == group.size:
        return replace(group, id=number)
    renumbered = np.full(group.size + 1, -1)  # the last entry is for -1
    renumbered[channels] = np.arange(len(channels))
    members = tuple(
        Member(member.tensor, member.axis, renumbered[member.channels])
        for member in group.members
        if np.isin(member.channels, channels).any()
    )
    touched = {member.tensor for member in members}
    sources = tuple(name for name in group.sources if name in touched)
    return replace(group, id=number, size=len(channels), members=members, sources=sources)
