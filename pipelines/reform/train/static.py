"""The static scheme, from budgets to trained weights and kept channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from serenity_mlir.reform.aim import Aim, Measured

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from serenity_mlir.reform.budgets import Kind
    from serenity_mlir.reform.costs import Resources
    from serenity_mlir.reform.estimate import Estimate
    from serenity_mlir.reform.groups import ChannelGroup, GroupMasks
    from serenity_mlir.reform.network import Network

_JUDGED = 500  # samples at once where no gradients are kept
_FINISHES = 4  # trainings of what is left, should the trained weights break a budget that held before


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
        estimate: Knows them, and whatever is budgeted.
        budgets: Upper limits.
        samples: To train on.
        test: To measure accuracy on.
        measure: Removes what the masks drop from the network with other weights, and measures what is left;
            None where what the formulae say of the masks is enough.
    """

    network: Network
    groups: Sequence[ChannelGroup]
    estimate: Estimate
    budgets: Mapping[Kind, float]
    samples: Samples
    test: Samples
    measure: Callable[[Network, GroupMasks], Measured] | None = None


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
        resources: Of the network without the dropped channels, by the formulae.
        unmet: Budgets that do not hold as measured.
        converged: Whether ‖F - Z‖ < ε.
        gaps: ‖F - Z‖ after each round.
        losses: Mean cross-entropy of each F-step.
        means: Mean |F| of each group after each of them.
        kept: Channels of each group that were within the budgets after each round.
        seconds: All of it, evaluation included.
    """

    network: Network
    keep: Mapping[int, NDArray[np.bool_]]
    accuracy: tuple[float, float, float]
    resources: Resources
    unmet: tuple[Kind, ...]
    converged: bool
    gaps: Sequence[float]
    losses: Sequence[float]
    means: Sequence[Sequence[float]]
    kept: Sequence[Sequence[int]]
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
    network, samples, test = problem.network, problem.samples, problem.test
    evaluator = Evaluator(network)
    objective = Objective(evaluator, samples.inputs, samples.labels, batch=options.batch)
    judge = Objective(evaluator, test.inputs, test.labels, batch=_JUDGED)
    before = judge.accuracy()
    aim = Aim(problem.estimate, problem.budgets)
    admm = Admm(objective, GateFactors(network, problem.groups), aim, options.admm)
    run = _Run(problem, options, admm, progress)
    run.search()
    finished = run.finish(judge)
    excess = aim.excess(finished.measured)
    return StaticResult(
        network=finished.network,
        keep=finished.keep,
        accuracy=(before, *finished.accuracy),
        resources=aim.estimate.costs.total(_counts(finished.keep)),
        unmet=tuple(kind for kind in problem.budgets if kind in excess),
        converged=admm.converged,
        gaps=admm.state.gaps,
        losses=admm.state.losses,
        means=admm.state.means,
        kept=admm.state.kept,
        seconds=perf_counter() - began,
    )


@dataclass(frozen=True, slots=True)
class _Finished:
    network: Network
    keep: Mapping[int, NDArray[np.bool_]]
    accuracy: tuple[float, float]
    """With the channels masked, and after the training of what is left."""
    measured: Measured


@dataclass(frozen=True, slots=True)
class _Run:
    problem: StaticProblem
    options: StaticOptions
    admm: Admm
    progress: Progress

    def search(self) -> None:
        """Rounds until gates have converged to within all budgets as measured, or rounds are used up."""
        admm, path = self.admm, self.options.checkpoint
        key = checkpoints.fingerprint(admm) if path is not None else ""
        if path is not None and path.exists():
            checkpoints.resume(path, admm, key)
        else:
            self._start()
        while True:
            while not admm.done:
                admm.round(self.progress)
                if path is not None:
                    checkpoints.save(path, admm, key)
            if not admm.settle(self._measure) or admm.done:
                return

    def _start(self) -> None:
        """Puts estimates right where the budgets are, so that gates are not trained towards wrong counts."""
        admm = self.admm
        if admm.options.z_step == "projection":
            admm.aim.settle(admm.factors.by_group(np.ones(admm.factors.count)), self._measure)
            admm.aim.goal = dict(admm.aim.limits)

    def finish(self, judge: Objective) -> _Finished:
        """Folds gates, trains what is left, and measures it: anew with less where that breaks a budget."""
        admm, evaluator = self.admm, self.admm.objective.evaluator
        trained = evaluator.trained()
        for attempt in range(1, _FINISHES + 1):
            found = self._finished(judge)
            if not admm.aim.excess(found.measured) or attempt == _FINISHES:
                break
            evaluator.load(trained)
            admm.aim.broken(found.keep, found.measured, attempt)
            if not admm.settle(self._measure):
                break
        return found

    def _finished(self, judge: Objective) -> _Finished:
        admm, network = self.admm, self.problem.network
        factors, objective = admm.factors, admm.objective
        evaluator, tuning = objective.evaluator, self.options.tuning
        weights, gates = fold(network, evaluator.trained(), factors, admm.chosen())
        evaluator.load(weights)
        masks = factors.factors(torch.from_numpy((gates != 0).astype(np.float32)))
        masked = judge.accuracy(masks)
        train(
            objective,
            tuning,
            gates=masks,
            progress=lambda at, share: self.progress(f"tuning, {at}", share),
        )
        keep = {group: part != 0 for group, part in factors.by_group(gates).items()}
        final = with_weights(network, evaluator.trained())
        return _Finished(final, keep, (masked, judge.accuracy(masks)), self._measured(final, keep))

    def _measure(self, keep: GroupMasks) -> Measured:
        """With the weights as they are by now."""
        weights = self.admm.objective.evaluator.trained()
        return self._measured(with_weights(self.problem.network, weights), keep)

    def _measured(self, network: Network, keep: GroupMasks) -> Measured:
        given = self.problem
        if given.measure is not None:
            return given.measure(network, keep)
        total = given.estimate.costs.total(_counts(keep))
        return Measured({kind: getattr(total, kind) for kind in given.budgets})


def _counts(keep: GroupMasks) -> dict[int, int]:
    return {group: int(mask.sum()) for group, mask in keep.items()}
