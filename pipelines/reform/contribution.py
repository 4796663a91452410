"""CI of channels: how much the loss depends on each; measured anew on the masked model as masking goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from serenity_mlir.reform.groups import gates_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from serenity_mlir.pipelines.reform.gated import Evaluation
    from serenity_mlir.reform.groups import ChannelGroup, GroupMasks
    from serenity_mlir.reform.network import Network

    Scores = dict[int, npt.NDArray[np.float64]]

Choice = Literal["auto", "gradient", "ablation"]
"""How CI is to be found: by gradients, by masking channels, or by whichever is closer in a bounded time."""

_ROUNDS = 6
_SAMPLES = (16, 256)
_WORK = 3e11
"""Multiply-accumulates to spend on ablations: about half a minute of one core."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How CI is estimated without gradients.

    Attributes:
        rounds: How often, on the way to the budgets.
        samples: Whose losses are looked at.
        together: How many channels of a group are masked at once, and share what it does to the loss.
    """

    rounds: int
    samples: int
    together: int

    @property
    def thorough(self) -> bool:
        """Whether every channel is masked by itself, as often as is wanted: better than any gradient."""
        return self.rounds == _ROUNDS and self.together == 1


def layer_samples(macs: float, runs: int, samples: int) -> int:
    """On how many samples LI is measured, with a limited amount of work.

    Args:
        macs: Of one sample.
        runs: Of the network.
        samples: That there are.
    """
    return int(min(samples, max(_WORK / max(macs * runs, 1.0), _SAMPLES[0])))


def plan_ablations(macs: float, channels: int, samples: int) -> Plan:
    """As many rounds and samples as a limited amount of work allows.

    Args:
        macs: Of one sample.
        channels: To be looked at.
        samples: That there are.
    """
    once = max(macs * channels, 1.0)
    least, most = _SAMPLES
    rounds = int(min(max(_WORK / (once * least), 1), _ROUNDS))
    wanted = int(min(max(_WORK / (once * rounds), least), most, samples))
    return Plan(rounds, wanted, max(1, int(np.ceil(once * rounds * wanted / _WORK))))


def ablate(  # noqa: PLR0913, PLR0917  (what is masked, on what, and how)
    network: Network,
    groups: Sequence[ChannelGroup],
    masks: GroupMasks,
    evaluation: Evaluation,
    plan: Plan,
    order: Mapping[int, npt.NDArray[np.floating[Any]]],
) -> Scores:
    """|change of the loss| when a channel is masked, on top of `masks`; its mean over samples.

    To first order this is the |activation · ∂loss/∂activation| that gradients give. Channels that are masked
    already have 0.

    Args:
        network: Unpruned.
        groups: To look at.
        masks: What is masked already.
        evaluation: Runs the model with any masks.
        plan: How many samples, and how many channels at once.
        order: Magnitudes: where several channels are masked at once these are neighbours by it, and share
            what it does by the squares of it.
    """
    every = tuple(groups)
    before = evaluation.losses(gates_of(network, masks, every), plan.samples)
    found: Scores = {}
    for group in groups:
        scores = np.zeros(group.size)
        left = [item for item in np.argsort(order[group.id], kind="stable") if masks[group.id][item]]
        for start in range(0, len(left), plan.together):
            block = left[start : start + plan.together]
            keep = masks[group.id].copy()
            keep[block] = False
            after = evaluation.losses(gates_of(network, {**masks, group.id: keep}, every), plan.samples)
            weights = order[group.id][block] ** 2 if plan.together > 1 else np.ones(1)
            shares = weights / weights.sum() if weights.any() else np.full(len(block), 1 / len(block))
            scores[block] = float(np.abs(after - before).mean()) * shares
        found[group.id] = scores
    return found
