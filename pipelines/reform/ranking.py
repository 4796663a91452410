"""How channels are ranked: by the priority indicator's parts, or by one of the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform.contribution import ablate, layer_samples, plan_ablations
from serenity_mlir.pipelines.reform.train.extra import require_torch
from serenity_mlir.reform.groups import gates_of
from serenity_mlir.reform.indicator import STEPS, Sensitivity, share_masked
from serenity_mlir.reform.magnitude import magnitudes
from serenity_mlir.reform.masking import Ranking
from serenity_mlir.reform.report import Contribution

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from serenity_mlir.pipelines.reform.contribution import Choice
    from serenity_mlir.pipelines.reform.gated import Evaluation
    from serenity_mlir.reform.costs import CostModel
    from serenity_mlir.reform.groups import ChannelGroup, GroupMasks
    from serenity_mlir.reform.masking import Method
    from serenity_mlir.reform.network import Network

    Scores = dict[int, npt.NDArray[np.float64]]

_GRADIENT_ROUNDS = 6
_GRADIENT_SAMPLES = 256


class Ranker:
    """Ranks the channels of one network.

    Attributes:
        contribution: How.
        sensitivities: LI of each group, once it is measured.
        warnings: What could not be done as it would have been better.
    """

    def __init__(  # noqa: PLR0913  (everything that is known of a network)
        self,
        network: Network,
        groups: Sequence[ChannelGroup],
        costs: CostModel,
        evaluation: Evaluation,
        *,
        method: Method,
        choice: Choice,
        seed: int,
        variants: int,
        progress: Callable[[str], None],
    ) -> None:
        self._network, self._groups, self._evaluation = network, groups, evaluation
        self._method, self._progress = method, progress
        self._fixed: Scores = {}
        self.sensitivities: dict[int, Sensitivity] = {}
        self.warnings: list[str] = []
        macs = costs.total().macs
        of_layers = layer_samples(macs, len(groups) * len(STEPS), evaluation.samples)
        channels = sum(group.size for group in groups)
        if method == "random":
            generator = np.random.default_rng(seed)
            self._fixed = {group.id: generator.random(group.size) for group in groups}
            self.contribution = Contribution("random", 0, 1, 1)
        elif method == "magnitude":
            self._fixed = magnitudes(network, groups, costs.layers)
            self.contribution = Contribution("magnitude", 0, 1, 1)
        else:
            self._plan = plan = plan_ablations(macs, channels * variants, evaluation.samples)
            if choice == "gradient" or (choice == "auto" and not plan.thorough and self._differentiable()):
                self._check_gradients()
                samples = len(evaluation.first(_GRADIENT_SAMPLES)[1])
                self.contribution = Contribution("gradient", samples, _GRADIENT_ROUNDS, 1, of_layers)
                return
            self._order = (
                magnitudes(network, groups, costs.layers)
                if plan.together > 1
                else {group.id: np.arange(group.size, dtype=np.float64) for group in groups}
            )
            self.contribution = Contribution("ablation", plan.samples, plan.rounds, plan.together, of_layers)

    def rank(self, masks: GroupMasks) -> dict[int, Ranking]:
        """A ranking of each group's channels, on the network with `masks`."""
        scores = self._fixed or self._measured(masks)
        if self._method == "pi" and not self.sensitivities:
            self.sensitivities = self._measure_layers(scores)
        return {group: Ranking(values, self.sensitivities.get(group)) for group, values in scores.items()}

    def _measured(self, masks: GroupMasks) -> Scores:
        if self.contribution.estimate == "gradient":
            self._progress("gradients of channels")
            from serenity_mlir.pipelines.reform.train.gate_gradients import channel_effects  # noqa: PLC0415

            inputs, labels = self._evaluation.first(self.contribution.samples)
            found: Scores = channel_effects(self._network, self._groups, masks, (inputs, labels), batch=64)
            return found
        self._progress("ablations of channels")
        return ablate(self._network, self._groups, masks, self._evaluation, self._plan, self._order)

    def _measure_layers(self, scores: Scores) -> dict[int, Sensitivity]:
        """LI of each group by itself: the score lost by masking shares of it, least channels first."""
        every = tuple(self._groups)
        count = self.contribution.layer_samples
        whole = self._evaluation.score({}, count)
        found = {}
        for index, group in enumerate(self._groups, 1):
            self._progress(f"sensitivity of layer {index} of {len(self._groups)}")
            kept = [share_masked(scores[group.id], share) for share in STEPS]
            gates = [gates_of(self._network, {group.id: keep}, every) for keep in kept]
            found[group.id] = Sensitivity(
                STEPS, tuple(whole - self._evaluation.score(item, count) for item in gates)
            )
        return found

    def _differentiable(self) -> bool:
        """Whether there are gradients of a loss."""
        if not find_spec("torch") or self._evaluation.judge.labels is None:
            return False
        from serenity_mlir.pipelines.reform.train.evaluator import Evaluator  # noqa: PLC0415  (an extra)

        try:
            Evaluator(self._network)
        except SerenityError as error:
            self.warnings.append(f"channels are ablated, as there are no gradients: {error.message}")
            return False
        return True

    def _check_gradients(self) -> None:
        """Refuse at once what the first gradient would end with.

        Raises:
            SerenityError: PyTorch is not installed, an op cannot be differentiated, or the score has none.
        """
        require_torch("CI by gradients")
        if self._evaluation.judge.labels is None:
            raise SerenityError(
                "there are no gradients of fidelity: it is greatest for the unpruned model, and level there",
                hint="leave out --contribution gradient, or give `labels`, if the model is a classifier",
            )
        from serenity_mlir.pipelines.reform.train.evaluator import Evaluator  # noqa: PLC0415  (an extra)

        Evaluator(self._network)
