"""Training of a network's weights by Adam: as it is, or with some of its channels masked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from serenity_mlir.pipelines.reform.train.objective import Gates, Objective


Progress = Callable[[str, float], None]
"""Told what is going on, and what share of it is done, 0 to 1."""


def unseen(_stage: str, _share: float) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True, slots=True)
class Training:
    """How weights are trained.

    Attributes:
        rate: Adam's learning rate at the start; it falls to zero along a cosine.
        epochs: Passes over the samples.
        seed: Of the order of samples.
    """

    rate: float = 1e-3
    epochs: int = 1
    seed: int = 0


def train(
    objective: Objective,
    training: Training,
    *,
    gates: Gates | None = None,
    progress: Progress = unseen,
) -> float:
    """Trains the weights of the objective's evaluator in place.

    Args:
        objective: Loss and samples.
        training: Rate, epochs, seed.
        gates: Factors that stay as they are.
        progress: Told of each step, and of the share of all that is done.

    Returns:
        The mean loss of the last epoch; 0 without any.
    """
    weights = list(objective.evaluator.weights.values())
    optimizer = torch.optim.Adam(weights, lr=training.rate)
    steps = training.epochs * -(-len(objective.labels) // objective.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))
    mean = 0.0
    for epoch in range(training.epochs):
        losses = []
        for chosen in objective.batches(epoch, training.seed):
            optimizer.zero_grad()
            losses.append(objective.backward(chosen, gates))
            optimizer.step()
            schedule.step()
            share = schedule.last_epoch / steps
            progress(f"epoch {epoch + 1} of {training.epochs}, loss {losses[-1]:.4f}", share)
        mean = sum(losses) / len(losses)
    return mean
