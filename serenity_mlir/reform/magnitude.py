"""Magnitudes of filters: the baseline that knows nothing of data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from serenity_mlir.errors import SerenityError
from serenity_mlir.reform.costs import Layer
from serenity_mlir.reform.groups import ChannelGroup
from serenity_mlir.reform.network import Network
from serenity_mlir.reform.propagate import find_facts


def magnitudes(
    network: Network, groups: Sequence[ChannelGroup], layers: Iterable[Layer]
) -> dict[int, npt.NDArray[np.float64]]:
    """The Euclidean norm of the filters that make each channel, over all layers of its group.

    Args:
        network: Unpruned.
        groups: To look at.
        layers: Of the network.

    Raises:
        SerenityError: Filters are not stored in a form that is known here.
    """
    facts = find_facts(network, {})
    by_output = {layer.output: layer for layer in layers}
    found = {}
    for group in groups:
        squares = np.zeros(group.size)
        for source in group.sources:
            weight = by_output[source].weight
            values = facts.constant(weight)
            if values is None:
                raise SerenityError(
                    "its values are not known, so its channels have no magnitude",
                    where=f"tensor '{weight}'",
                    hint="leave out --method magnitude",
                )
            axis = _filter_axis(network, source, values.ndim)
            norms = (values.astype(np.float64) ** 2).sum(axis=tuple(set(range(values.ndim)) - {axis}))
            for member in group.members:
                if (member.tensor, member.axis) == (weight, axis):
                    own = member.channels >= 0
                    np.add.at(squares, member.channels[own], norms[own])
        found[group.id] = np.sqrt(squares)
    return found


def _filter_axis(network: Network, source: str, rank: int) -> int:
    """Along which axis of a layer's weights its filters lie."""
    node = network.producers[source]
    if node.op == "Gemm":
        return 0 if node.integer("transB", 0) else 1
    if node.op == "ConvTranspose":
        return 1
    return 0 if "Conv" in node.op else rank - 1
