"""What the static scheme is compared with: random and magnitude masks, and a greedy one like NetAdapt's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.pipelines.bench.reform_setting import Masks, Setting, prunable
from serenity_mlir.pipelines.reform.train.evaluator import Evaluator, with_weights
from serenity_mlir.pipelines.reform.train.training import Training, train
from serenity_mlir.reform.costs import CostModel, Resources
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.groups import gates_of
from serenity_mlir.reform.magnitude import magnitudes
from serenity_mlir.reform.projection import project
from serenity_mlir.reform.removal import plan_removal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from serenity_mlir.reform.budgets import Kind
    from serenity_mlir.reform.groups import ChannelGroup
    from serenity_mlir.reform.network import Network

_SHORT = 20  # steps of training behind each candidate (Yang et al.'s short-term fine-tuning)
_JUDGED = 1000  # training digits by which candidates are chosen


def relative_magnitudes(network: Network, costs: CostModel) -> dict[int, NDArray[np.float64]]:
    """Euclid's norm of each channel's filters, as a share of its group's mean: layers differ in scale."""
    found = magnitudes(network, prunable(network), costs.layers)
    return {group: values / values.mean() for group, values in found.items()}


def magnitude_masks(setting: Setting, budgets: Mapping[Kind, float]) -> Masks:
    """Channels of least magnitude per unit of violated cost are dropped."""
    return project(relative_magnitudes(setting.network, setting.costs), Estimate(setting.costs), budgets).keep


def random_masks(setting: Setting, budgets: Mapping[Kind, float]) -> Masks:
    """The same with random numbers in place of magnitudes."""
    rng = np.random.default_rng([setting.seed, 1])
    values = {group.id: rng.uniform(0.5, 1.5, group.size) for group in setting.groups}
    return project(values, Estimate(setting.costs), budgets).keep


@dataclass(frozen=True, slots=True)
class Greedy:
    """What the greedy one found.

    Attributes:
        accuracy: On the test digits, before the last training and after it.
        resources: Of the network that is left.
        kept: Channels of each hidden layer.
        iterations: How many times something was removed.
        seconds: Of the processor, for all of it.
    """

    accuracy: tuple[float, float]
    resources: Resources
    kept: tuple[int, ...]
    iterations: int
    seconds: float


def netadapt(setting: Setting, resource: str, budget: float, iterations: int, tuning: Training) -> Greedy:
    """NetAdapt's loop (Yang et al., ECCV 2018): one resource, lowered by an equal step in each iteration.

    For each layer the fewest filters are removed that lower the resource by the step, those of least
    magnitude; each candidate is trained a little, and the most accurate one is taken.

    Args:
        setting: Network and digits.
        resource: A field of `Resources`.
        budget: Its upper limit.
        iterations: How many equal steps lead there.
        tuning: The training at the end.
    """
    began = process_time()
    network, costs = setting.network, setting.costs
    start = getattr(costs.total(), resource)
    done = 0
    for iteration in range(iterations):
        limit = start + (budget - start) * (iteration + 1) / iterations
        if getattr(costs.total(), resource) <= limit:
            continue
        candidates = []
        for group in prunable(network):
            shrunk = _shrunk(network, costs, group, resource, limit)
            if shrunk is not None:
                setting.progress(f"NetAdapt, iteration {iteration + 1} of {iterations}, group {group.id}")
                candidates.append(_tried(setting, shrunk))
        if not candidates:
            break
        network = max(candidates, key=lambda each: each[0])[1]
        costs = CostModel(network, setting.costs.profile, prunable(network))
        done += 1
    evaluator = Evaluator(network)
    judge = setting.judge(evaluator)
    before = judge.accuracy()
    train(setting.objective(evaluator), tuning, progress=setting.told("NetAdapt"))
    kept = tuple(group.size for group in prunable(network))
    return Greedy((before, judge.accuracy()), costs.total(), kept, done, process_time() - began)


def _shrunk(
    network: Network, costs: CostModel, group: ChannelGroup, resource: str, limit: float
) -> Network | None:
    """The network with the fewest channels of one group removed that meets the limit; None if none does."""
    order = np.argsort(magnitudes(network, (group,), costs.layers)[group.id], kind="stable")
    for dropped in range(1, group.size):
        if getattr(costs.total({group.id: group.size - dropped}), resource) <= limit:
            keep = np.ones(group.size, dtype=np.bool_)
            keep[order[:dropped]] = False
            return plan_removal(network, gates_of(network, {group.id: keep})).after
    return None


def _tried(setting: Setting, network: Network) -> tuple[float, Network]:
    """Accuracy on training digits after a little training, and the network so trained."""
    evaluator = Evaluator(network)
    objective = setting.objective(evaluator, _SHORT * 64)
    train(objective, replace(Training(rate=2e-4, epochs=1), seed=setting.seed))
    judged = setting.objective(evaluator, _JUDGED)
    return judged.accuracy(), with_weights(network, evaluator.trained())
