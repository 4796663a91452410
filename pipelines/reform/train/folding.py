"""Gates folded into the weights whose results they multiply, so that the written model has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.pipelines.reform.train.factors import GateFactors, Place
    from serenity_mlir.reform.network import Network


def fold(
    network: Network,
    weights: Mapping[str, NDArray[np.floating]],
    factors: GateFactors,
    gates: NDArray[np.float64],
) -> tuple[dict[str, NDArray[np.floating]], NDArray[np.float64]]:
    """Multiplies weights by the gates behind them.

    Args:
        network: Whose weights these are.
        weights: By name; all that are trained.
        factors: Where the gates are.
        gates: Over all groups; 0 where a channel is dropped.

    Returns:
        The weights, and gates that are 1 where they have been folded. Where a layer shares its weights,
        or makes its channels in a way that has no factor of its own, the groups behind it keep theirs.
    """
    layers = {place.tensor: _layer(network, weights, place) for place in factors.places}
    stuck = np.zeros(factors.count + 1, dtype=np.bool_)
    for place in factors.places:
        if layers[place.tensor] is None:
            stuck[place.index] = True
    for group in factors.groups:
        own = slice(factors.starts[group.id], factors.starts[group.id] + group.size)
        stuck[own] = stuck[own].any()
    scales = np.append(np.where(stuck[:-1] | (gates == 0), 1.0, gates), 1.0)
    folded = dict(weights)
    for place in factors.places:
        for name, axis in layers[place.tensor] or ():
            shape = [1] * folded[name].ndim
            shape[axis] = -1
            scale = scales[place.index].reshape(shape)
            folded[name] = (folded[name] * scale).astype(weights[name].dtype)
    return folded, np.where(stuck[:-1], gates, (gates != 0).astype(np.float64))


def _layer(
    network: Network, weights: Mapping[str, NDArray[np.floating]], place: Place
) -> list[tuple[str, int]] | None:
    """The weights, each with its axis, whose scaling scales `place`; None where there are none."""
    found = _scaled(network, place.tensor, place.axis - place.rank)
    own = found is not None and all(
        name in weights
        and _used_once(network, name)
        and weights[name].ndim >= -axis
        and weights[name].shape[axis] == len(place.index)
        for name, axis in found
    )
    return found if own else None


def _scaled(network: Network, tensor: str, axis: int) -> list[tuple[str, int]] | None:
    """The constants that scale a tensor along an axis, each with its own; axes count from the last, -1."""
    node = network.producers[tensor]
    if node.op == "Add":  # of a bias
        (bias,) = (name for name in node.inputs if network.value(name) is not None)
        (product,) = (name for name in node.inputs if network.value(name) is None)
        before = _scaled(network, product, axis)
        return None if before is None else [*before, (bias, axis)]
    rank = len(network.shape(node.input(1))) if node.input(1) else 0
    if node.op == "Gemm":
        found = [(node.input(1), -2 if node.integer("transB", 0) else -1), (node.input(2), -1)]
    elif node.op in ("Conv", "BatchNormalization"):
        found = [(node.input(1), -rank), (node.input(2), -1)]
    elif node.op == "ConvTranspose" and node.integer("group", 1) == 1:
        found = [(node.input(1), 1 - rank), (node.input(2), -1)]
    elif node.op == "MatMul":
        found = [(node.input(1), -1)]
    else:
        return None
    return [(name, own) for name, own in found if name]


def _used_once(network: Network, name: str) -> bool:
    users = network.consumers[name]
    return len(users) == 1 and users[0].inputs.count(name) == 1 and name not in network.outputs
