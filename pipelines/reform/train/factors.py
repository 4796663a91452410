"""Gates as numbers: one factor a channel of each coupled group, and where they multiply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from serenity_mlir.reform.gates import gate_axis
from serenity_mlir.reform.groups import gates_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.reform.groups import ChannelGroup
    from serenity_mlir.reform.network import Network


@dataclass(frozen=True, slots=True)
class Place:
    """Where gates multiply one tensor.

    Attributes:
        tensor: Its name.
        axis: That of its channels.
        rank: How many axes it has.
        index: For each channel the gate that multiplies it, among those of all groups; the number of
            gates where none does.
    """

    tensor: str
    axis: int
    rank: int
    index: NDArray[np.int64]


class GateFactors:
    """The gates of several groups in one vector.

    Args:
        network: What they multiply.
        groups: Those that may shrink.
    """

    def __init__(self, network: Network, groups: Sequence[ChannelGroup]) -> None:
        self.groups = tuple(groups)
        sizes = [group.size for group in groups]
        self.starts = dict(
            zip((group.id for group in groups), np.cumsum([0, *sizes[:-1]]).tolist(), strict=True)
        )
        self.count = sum(sizes)
        self.places = _places(network, self.groups, self.starts, self.count)

    def by_group(self, values: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
        """A vector over all gates, cut into groups."""
        return {group.id: values[self.starts[group.id] :][: group.size] for group in self.groups}

    def joined(self, parts: Mapping[int, NDArray[np.generic]]) -> NDArray[np.float64]:
        """The vector whose groups are given."""
        return np.concatenate([np.asarray(parts[group.id], np.float64) for group in self.groups])

    def factors(self, values: torch.Tensor) -> dict[str, torch.Tensor]:
        """What multiplies each gated tensor, shaped to broadcast; differentiable in `values`."""
        padded = torch.cat([values, torch.ones(1, dtype=values.dtype)])
        found = {}
        for place in self.places:
            shape = [1] * place.rank
            shape[place.axis] = -1
            found[place.tensor] = padded[torch.from_numpy(place.index)].reshape(shape)
        return found


def _places(
    network: Network, groups: Sequence[ChannelGroup], starts: Mapping[int, int], count: int
) -> tuple[Place, ...]:
    none_kept = {group.id: np.zeros(group.size, dtype=np.bool_) for group in groups}
    members: dict[tuple[str, int], list[tuple[int, NDArray[np.int64]]]] = defaultdict(list)
    for group in groups:
        for member in group.members:
            members[member.tensor, member.axis].append((group.id, member.channels))
    places = []
    for tensor in gates_of(network, none_kept):
        axis, shape = gate_axis(network, tensor), network.shape(tensor)
        index = np.full(len(members[tensor, axis][0][1]), count, dtype=np.int64)
        for group_id, channels in members[tensor, axis]:
            index[channels >= 0] = starts[group_id] + channels[channels >= 0]
        places.append(Place(tensor, axis, len(shape), index))
    return tuple(places)
