"""The static scheme, from budgets to trained weights and kept channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import torch

from serenity_mlir.pipelines.reform.train import checkpoint as checkpoints
from serenity_mlir.pipelines.reform.train.admm import Admm, AdmmOptions
from serenity_mlir.pipelines.reform.train.evaluator import Evaluator, with_weights
from serenity_mlir.pipelines.reform.train.factors import GateFactors
from serenity_mlir.pipelines.reform.train.folding import fold
from serenity_mlir.pipelines.reform.train.objective import Objective
from serenity_mlir.pipelines.reform.train.training import Progress, Training, train, unseen

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from serenity_mlir.reform.costs import CostModel, Resources
    from serenity_mlir.reform.groups import ChannelGroup
    from serenity_mlir.reform.network import Network

_JUDGED = 500  # samples at once where no gradients are kept


@dataclass(frozen=True, slots=True)
class Samples:
    """Labelled samples.

    Attributes:
        inputs: By the name of each input of the network, samples along the first axis.
        labels: The class of each.
    """

    inputs: Mapping[str, NDArray[np.generic]]
    labels: NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class StaticProblem:
    """A network and what it is to become.

    Attributes:
        network: A classifier; its tensors' shapes are known.
        groups: Those of its groups that may shrink.
        costs: Knows them.
        budgets: Upper limits by name of a resource.
        samples: To train on.
        test: To measure accuracy on.
    """

    network: Network
    groups: Sequence[ChannelGroup]
    costs: CostModel
    budgets: Mapping[str, float]
    samples: Samples
    test: Samples


@dataclass(frozen=True, slots=True)
class StaticOptions:
    """How a network is pruned and trained.

    Attributes:
        admm: How the gates are found.
        tuning: How the kept weights are trained afterwards.
        batch: Samples of a gradient step.
        checkpoint: Where each round is saved, and resumed from if it is there.
    """

    admm: AdmmOptions = field(default_factory=AdmmOptions)
    tuning: Training = field(default_factory=lambda: Training(rate=2e-4))
    batch: int = 64
    checkpoint: Path | None = None


@dataclass(frozen=True, slots=True)
class StaticResult:
    """A trained network and the channels to keep.

    Attributes:
        network: The network given, with trained weights into which gates are folded.
        keep: By group's id, whether each channel is kept.
        accuracy: On the test samples: before, with the channels masked as ADMM left the network, and
            after tuning.
        resources: Of the network without the dropped channels.
        unmet: Budgets that do not hold.
        converged: Whether ‖F - Z‖ < ε.
        gaps: ‖F - Z‖ after each round.
        losses: Mean cross-entropy of each F-step.
        seconds: All of it, evaluation included.
    """

    network: Network
    keep: Mapping[int, NDArray[np.bool_]]
    accuracy: tuple[float, float, float]
    resources: Resources
    unmet: tuple[str, ...]
    converged: bool
    gaps: Sequence[float]
    losses: Sequence[float]
    seconds: float


def prune_static(
    problem: StaticProblem,
    options: StaticOptions,
    *,
    progress: Progress = unseen,
) -> StaticResult:
    """Trains gates into the budgets, and then the weights that are left.

    Args:
        problem: Network, budgets and samples.
        options: How.
        progress: Told of each step: of the search for gates, then of the training after it.

    Raises:
        SerenityError: An op cannot be differentiated, samples do not fit, the training diverges, or the
            checkpoint is another run's.
    """
    began = perf_counter()
    network, budgets = problem.network, problem.budgets
    samples, test = problem.samples, problem.test
    evaluator = Evaluator(network)
    objective = Objective(evaluator, samples.inputs, samples.labels, batch=options.batch)
    judge = Objective(evaluator, test.inputs, test.labels, batch=_JUDGED)
    before = judge.accuracy()
    factors = GateFactors(network, problem.groups)
    admm = Admm(objective, factors, problem.costs, budgets, options.admm)
    _run(admm, options.checkpoint, progress)
    weights, gates = fold(network, evaluator.trained(), factors, admm.chosen())
    evaluator.load(weights)
    masks = factors.factors(torch.from_numpy((gates != 0).astype(np.float32)))
    masked = judge.accuracy(masks)
    train(objective, options.tuning, gates=masks, progress=lambda at, share: progress(f"tuning, {at}", share))
    keep = {group: part != 0 for group, part in factors.by_group(gates).items()}
    total = problem.costs.total({group: int(mask.sum()) for group, mask in keep.items()})
    return StaticResult(
        network=with_weights(network, evaluator.trained()),
        keep=keep,
        accuracy=(before, masked, judge.accuracy(masks)),
        resources=total,
        unmet=tuple(name for name, limit in budgets.items() if getattr(total, name) > limit),
        converged=admm.converged,
        gaps=admm.state.gaps,
        losses=admm.state.losses,
        seconds=perf_counter() - began,
    )


def _run(admm: Admm, path: Path | None, progress: Progress) -> None:
    key = checkpoints.fingerprint(admm) if path is not None else ""
    if path is not None and path.exists():
        checkpoints.resume(path, admm, key)
    while not admm.done:
        admm.round(progress)
        if path is not None:
            checkpoints.save(path, admm, key)
