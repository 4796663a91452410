"""Shapes of a network's tensors as functions of how many channels each coupled group keeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from serenity_mlir.errors import SerenityError
from serenity_mlir.reform.groups import ChannelGroup, Member
from serenity_mlir.reform.network import Network

Kept = Mapping[int, int]
"""By group's id: how many of its channels are left; all, where it names none."""


class KeptShapes:
    """Shapes of one network's tensors."""

    def __init__(self, network: Network, groups: Sequence[ChannelGroup]) -> None:
        """Note which axes shrink with which groups.

        Args:
            network: Unpruned.
            groups: What may shrink.
        """
        self.sizes = {group.id: group.size for group in groups}
        self._network = network
        self._shrinks: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for group in groups:
            for member in group.members:
                self._shrinks[member.tensor].append((member.axis, group.id, _each(group, member)))

    def shape(self, tensor: str, kept: Kept) -> tuple[int, ...]:
        """The shape of a tensor with `kept` channels of each group.

        A leading dimension that is open counts as 1: costs are those of one sample.

        Raises:
            SerenityError: Another dimension is open, or their number is.
        """
        found = self._network.tensors[tensor]
        dims = [1 if size is None and not axis else size for axis, size in enumerate(found.shape)]
        if not found.ranked or None in dims:
            raise SerenityError(
                "its size is not constant, so what it costs is not known",
                where=f"tensor '{tensor}'",
                hint="fix the sizes of the model's inputs",
            )
        sizes = [size for size in dims if size is not None]
        for axis, group, each in self._shrinks.get(tensor, ()):
            sizes[axis] -= (self.sizes[group] - kept.get(group, self.sizes[group])) * each
        return tuple(sizes)

    def size(self, tensor: str, kept: Kept) -> int:
        """Its bytes, as it is stored."""
        return prod(self.shape(tensor, kept)) * bits(self._network.tensors[tensor].dtype) // 8

    def groups_of(self, *tensors: str) -> tuple[int, ...]:
        """The groups that any of these tensors shrinks with."""
        return tuple(dict.fromkeys(item[1] for tensor in tensors for item in self._shrinks.get(tensor, ())))


def bits(dtype: str) -> int:
    """The width of an element type.

    Raises:
        SerenityError: It is none of a tensor of numbers.
    """
    if dtype == "bfloat16":  # which NumPy does not have
        return 16
    try:
        return np.dtype(dtype).itemsize * 8
    except TypeError as error:
        raise SerenityError(
            f"a tensor's type is not known: {dtype}", hint="export the model again"
        ) from error


def _each(group: ChannelGroup, member: Member) -> int:
    """How many positions of a tensor's axis each channel of a group holds.

    Raises:
        ValueError: Some hold more than others, so that costs are no function of how many are kept.
    """
    held = np.bincount(member.channels[member.channels >= 0], minlength=group.size)
    if held.min() != held.max():
        raise ValueError(
            f"channels of group {group.id} hold {held.min()} to {held.max()} of '{member.tensor}'"
        )
    return int(held[0])
