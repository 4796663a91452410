"""The static scheme: gates and weights trained until the gates lie within every budget (ReForm, Eq. 4-10).

    min  Loss(F, θ) + λ1 ‖F‖_1 + λ2 ‖C(Z) - b‖²   subject to   F = Z

by the alternating direction method of multipliers, with scaled duals s:

    F-step   θ, F  by gradients of  Loss(F, θ) + λ1 ‖F‖_1 + rho/2 ‖F - Z + s‖²   (Eq. 7)
    Z-step   Z     the budgets' part at V = F + s                               (Eq. 8, 9)
    dual     s  += F - Z                                                        (Eq. 10)

The Z-step is a projection onto all budgets at once; or as published, where a penalty takes their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform.train.training import Progress, unseen
from serenity_mlir.reform.penalty import penalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.pipelines.reform.train.factors import GateFactors
    from serenity_mlir.pipelines.reform.train.objective import Objective
    from serenity_mlir.reform.aim import Aim, Measure

ZStep = Literal["projection", "penalty"]

_OPEN = 0.5
_FURTHEST = 0.05  # a gate moves by one step: where the loss is steep, longer ones would diverge


class GatesClosed(SerenityError):
    """Nothing is left of a layer."""


@dataclass(frozen=True, slots=True)
class AdmmOptions:
    """How the gates are found.

    Attributes:
        z_step: Projection onto the budgets, or the published penalty.
        lambda1: Weight of ‖F‖_1, which draws gates to zero.
        lambda2: Weight of ‖C(Z) - b‖², each cost as a share of its budget; of the penalty only.
        rho: Weight of ‖F - Z + s‖².
        epsilon: ‖F - Z‖ below which gates have converged, with Euclid's norm over all of them.
        rounds: F- and Z-steps at most.
        steps: Gradient steps of an F-step.
        rate: Adam's learning rate for weights.
        gate_rate: Length of a (proximal) gradient step of gates.
        seed: Of the order of samples.
    """

    z_step: ZStep = "projection"
    lambda1: float = 1e-4
    lambda2: float = 1.0
    rho: float = 0.2
    epsilon: float = 0.1
    rounds: int = 20
    steps: int = 20
    rate: float = 2e-4
    gate_rate: float = 1.0
    seed: int = 0


@dataclass(slots=True)
class AdmmState:
    """Where it stands after a round; with the weights and Adam's moments, all that a resumed run needs.

    Attributes:
        gates: F, over all groups.
        projected: Z.
        duals: s.
        rounds: F- and Z-steps done.
        gaps: ‖F - Z‖ after each of them.
        losses: Mean cross-entropy in each F-step.
        means: Mean |F| of each group after each F-step.
        kept: Channels of each group that Z keeps after each Z-step.
    """

    gates: NDArray[np.float64]
    projected: NDArray[np.float64]
    duals: NDArray[np.float64]
    rounds: int
    gaps: list[float]
    losses: list[float]
    means: list[list[float]]
    kept: list[list[int]]

    @classmethod
    def start(cls, count: int) -> AdmmState:
        """Every gate open."""
        return cls(np.ones(count), np.ones(count), np.zeros(count), 0, [], [], [], [])


class Admm:
    """One run, round by round.

    Args:
        objective: Loss, samples and the evaluator whose weights are trained in place.
        factors: The gates.
        aim: The budgets, and estimates of the gates' groups.
        options: How.
    """

    def __init__(
        self,
        objective: Objective,
        factors: GateFactors,
        aim: Aim,
        options: AdmmOptions,
    ) -> None:
        self.objective = objective
        self.factors = factors
        self.aim = aim
        self.options = options
        self.state = AdmmState.start(factors.count)
        self.optimizer: Any = torch.optim.Adam(list(objective.evaluator.weights.values()), lr=options.rate)

    @property
    def done(self) -> bool:
        """Whether gates have converged or rounds are used up."""
        return self.converged or self.state.rounds >= self.options.rounds

    @property
    def converged(self) -> bool:
        """Whether ‖F - Z‖ < ε."""
        return bool(self.state.gaps) and self.state.gaps[-1] < self.options.epsilon

    def chosen(self) -> NDArray[np.float64]:
        """Z, with 0 for dropped channels: of what a penalty leaves, those less than half open."""
        gates = self.state.projected
        return np.where(np.abs(gates) < _OPEN, 0.0, gates) if self.options.z_step == "penalty" else gates

    def _kept(self) -> list[int]:
        chosen = self.factors.by_group(self.chosen())
        return [int(np.count_nonzero(chosen[group.id])) for group in self.factors.groups]

    def _check_open(self, gates: NDArray[np.float64]) -> None:
        for group, part in self.factors.by_group(gates).items():
            if not part.any():
                (closed,) = (item for item in self.factors.groups if item.id == group)
                weights = f"λ1 = {self.options.lambda1:g}"
                if self.options.z_step == "penalty":
                    weights += f" and λ2 = {self.options.lambda2:g}"
                raise GatesClosed(
                    f"{weights} close every gate of a layer",
                    where=f"tensor '{closed.sources[0]}'",
                    hint="lower them: λ1 times the number of gates is to be less than the loss",
                )

    def round(self, progress: Progress = unseen) -> None:
        """An F-step, a Z-step and the duals.

        Raises:
            SerenityError: The training diverges.
            GatesClosed: Its terms close every gate of a layer.
        """
        state = self.state
        loss = self._train(progress)
        target = state.gates + state.duals
        state.projected = self._z_step(target)
        self._check_open(self.chosen())
        state.duals = state.duals + state.gates - state.projected
        state.gaps.append(float(np.linalg.norm(state.gates - state.projected)))
        state.losses.append(loss)
        gates = self.factors.by_group(state.gates)
        state.means.append([float(np.abs(gates[group.id]).mean()) for group in self.factors.groups])
        state.kept.append(self._kept())
        state.rounds += 1

    def settle(self, measure: Measure) -> bool:
        """A Z-step onto the budgets as measured, after a round; the published penalty knows no such step.

        Args:
            measure: Prunes the network as it is trained by now, and measures what is left.

        Returns:
            Whether Z is another than before. `gaps` says how far F is from it.
        """
        state = self.state
        if self.options.z_step == "penalty":
            return False
        target = state.projected + state.duals  # F + s, as the round found it
        settled = target * self.factors.joined(self.aim.settle(self.factors.by_group(target), measure).keep)
        changed = not np.array_equal(settled != 0, state.projected != 0)
        if changed:
            state.projected, state.duals = settled, target - settled
            state.gaps[-1] = float(np.linalg.norm(state.gates - settled))
            state.kept[-1] = self._kept()
        return changed

    def _train(self, progress: Progress) -> float:
        """F-step: Adam for weights, proximal gradient steps for gates."""
        state, options = self.state, self.options
        gates = torch.tensor(state.gates, dtype=torch.float32, requires_grad=True)
        losses = []
        for step, chosen in enumerate(self._batches(state.rounds * options.steps)):
            self.optimizer.zero_grad()
            gates.grad = None
            losses.append(self.objective.backward(chosen, self.factors.factors(gates)))
            self.optimizer.step()
            with torch.no_grad():
                move = (options.gate_rate * gates.grad).clamp(-_FURTHEST, _FURTHEST)
                moved = gates - move
                gates.copy_(torch.from_numpy(self._proximal(moved.numpy().astype(np.float64))))
            share = (state.rounds + (step + 1) / options.steps) / options.rounds
            at = f"round {state.rounds + 1} of {options.rounds}, step {step + 1}, loss {losses[-1]:.4f}"
            progress(at, share)
        state.gates = gates.detach().numpy().astype(np.float64)
        return float(np.mean(losses))

    def _proximal(self, moved: NDArray[np.float64]) -> NDArray[np.float64]:
        """argmin over F of λ1 ‖F‖_1 + rho/2 ‖F - Z + s‖² + ‖F - moved‖² / (2 rate), in closed form."""
        options, state = self.options, self.state
        pull = options.gate_rate * options.rho
        centre = moved + pull * (state.projected - state.duals)
        shrunk = np.maximum(np.abs(centre) - options.gate_rate * options.lambda1, 0.0)
        return np.asarray(np.sign(centre) * shrunk / (1.0 + pull))

    def _z_step(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        parts = self.factors.by_group(target)
        if self.options.z_step == "penalty":
            weight = self.options.lambda2 / self.options.rho
            return self.factors.joined(penalised(parts, self.aim.estimate, self.aim.goal, weight))
        return target * self.factors.joined(self.aim.project(parts).keep)

    def _batches(self, first: int) -> Iterator[NDArray[np.int64]]:
        """`steps` batches from the `first` of all epochs on: a resumed run goes on where it stopped."""
        size = -(-len(self.objective.labels) // self.objective.batch)
        for number in range(first, first + self.options.steps):
            epoch, place = divmod(number, size)
            yield self.objective.batches(epoch, self.options.seed)[place]
