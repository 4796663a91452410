"""How much the loss depends on each channel: CI of ReForm's dynamic scheme, by gradients (Eq. 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.pipelines.reform.train.evaluator import Evaluator
from serenity_mlir.pipelines.reform.train.objective import Objective
from serenity_mlir.reform.gates import gate_axis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.reform.network import Network


def channel_gradients(
    network: Network,
    inputs: Mapping[str, NDArray[np.generic]],
    labels: NDArray[np.integer],
    tensors: Sequence[str],
    *,
    batch: int = 64,
) -> dict[str, NDArray[np.float64]]:
    """|∂loss/∂activation|, its mean over samples and positions, for each channel of some tensors.

    The loss is the cross-entropy of each sample by itself.

    Args:
        network: A classifier, see `Objective`.
        inputs: Samples by the name of each input, along the first axis.
        labels: The class of each sample: the right one, or the one that the unpruned network chooses.
        tensors: Results of nodes, whose channels lie where gates on them do.
        batch: Samples in one pass, where the network leaves that open.

    Raises:
        SerenityError: An op cannot be differentiated, or the samples do not fit.
    """
    objective = Objective(Evaluator(network), inputs, labels, batch=batch)
    sums: dict[str, NDArray[np.float64]] = {}
    for gradients in objective.activation_gradients(tensors):
        for name, gradient in gradients.items():
            axis = gate_axis(network, name)
            others = tuple(other for other in range(gradient.ndim) if other != axis)
            mean = np.abs(gradient.astype(np.float64)).mean(axis=others) * len(gradient) / len(labels)
            sums[name] = sums.get(name, 0.0) + mean
    return sums
