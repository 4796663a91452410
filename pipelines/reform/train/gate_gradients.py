"""What masking each channel does to the loss, to first order: the gradient by its gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from serenity_mlir.pipelines.reform.train.evaluator import Evaluator
from serenity_mlir.pipelines.reform.train.objective import Objective
from serenity_mlir.reform.gates import gate_axis
from serenity_mlir.reform.groups import gated_tensor, gates_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.reform.groups import ChannelGroup, GroupMasks
    from serenity_mlir.reform.network import Network


def channel_effects(
    network: Network,
    groups: Sequence[ChannelGroup],
    masks: GroupMasks,
    samples: tuple[Mapping[str, NDArray[np.generic]], NDArray[np.int64]],
    *,
    batch: int,
) -> dict[int, NDArray[np.float64]]:
    """|activation · ∂loss/∂activation|, summed over positions and layers of a channel; its mean over samples.

    That is the gradient by a gate that multiplies the channel. Channels that are masked have 0.

    Args:
        network: A classifier, see `Objective`.
        groups: To look at.
        masks: What is masked already.
        samples: Inputs by name, and the class of each sample.
        batch: Samples in one pass, where the network leaves that open.

    Raises:
        SerenityError: An op cannot be differentiated, or the samples do not fit.
    """
    inputs, labels = samples
    objective = Objective(Evaluator(network), inputs, labels, batch=batch)
    gates = gates_of(network, masks, tuple(groups))
    names = {source: gated_tensor(network, source) for group in groups for source in group.sources}
    found = {group.id: np.zeros(group.size) for group in groups}
    size = network.tensors[network.inputs[0]].shape[0] or batch
    for start in range(0, len(labels), size):
        chosen = torch.arange(start, min(start + size, len(labels)))
        leaves = {
            name: _leaf(network, name, len(chosen), gates.get(name)) for name in dict.fromkeys(names.values())
        }
        loss = functional.nll_loss(
            objective.log_probabilities(chosen, leaves), objective.labels[chosen], reduction="sum"
        )
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        by_name = {
            name: gradient.numpy().astype(np.float64).reshape(len(chosen), -1)
            for name, gradient in zip(leaves, gradients, strict=True)
        }
        for group in groups:
            effects = np.zeros((len(chosen), group.size))
            for source, own in _places(network, group):
                gradient = by_name[names[source]]
                np.add.at(effects.T, own[own >= 0], gradient[:, own >= 0].T)
            found[group.id] += np.abs(effects).sum(axis=0)
    return {group: np.where(masks[group], total / len(labels), 0.0) for group, total in found.items()}


def _leaf(network: Network, name: str, samples: int, gate: NDArray[np.bool_] | None) -> torch.Tensor:
    """A gate of its own for each sample."""
    shape = network.tensors[name].shape
    axis = gate_axis(network, name)
    channels = shape[axis]
    if channels is None:
        raise ValueError(f"a gate on '{name}', whose channels are not known")
    values = np.ones(channels, np.float32) if gate is None else gate.astype(np.float32)
    spread = [samples, *(1,) * (len(shape) - 1)]
    spread[axis] = channels
    broadcast = np.broadcast_to(values.reshape([1 if at != axis else -1 for at in range(len(shape))]), spread)
    return torch.tensor(broadcast.copy(), requires_grad=True)


def _places(network: Network, group: ChannelGroup) -> list[tuple[str, NDArray[np.int64]]]:
    """For each layer of a group, the channel at each position of its result."""
    return [
        (member.tensor, member.channels)
        for member in group.members
        if member.tensor in group.sources and member.axis == gate_axis(network, member.tensor)
    ]
