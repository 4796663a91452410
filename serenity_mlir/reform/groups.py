"""Channel groups: the channels that axis maps tie together, and why some of them must stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


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
    channels: npt.NDArray[np.int64]


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
