"""What the parts of `serenity bench reform` share: trained networks, samples, budgets, training steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.pipelines.bench.reform_networks import lenet
from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.pipelines.reform.train.evaluator import Evaluator, with_weights
from serenity_mlir.pipelines.reform.train.factors import GateFactors
from serenity_mlir.pipelines.reform.train.objective import Objective
from serenity_mlir.pipelines.reform.train.static import Samples, StaticProblem
from serenity_mlir.pipelines.reform.train.training import Progress, Training, train
from serenity_mlir.reform.budgets import KINDS, Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.groups import channel_groups
from serenity_mlir.reform.profile import profile

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

    from serenity_mlir.pipelines.bench.digits import Digits
    from serenity_mlir.reform.groups import ChannelGroup
    from serenity_mlir.reform.network import Network

Masks = Mapping[int, "NDArray[np.bool_]"]

BATCH = 64
TUNING = Training(rate=2e-4, epochs=1)
_BASE = Training(rate=1e-3, epochs=3)
PROFILE = "paper-fit"


@dataclass(frozen=True)
class Setting:
    """LeNet of one seed, trained on digits.

    Attributes:
        data: The digits.
        seed: Of weights and of the order of samples.
        progress: Told what is going on.
    """

    data: Digits
    seed: int
    progress: Callable[[str], None]

    @cached_property
    def model(self) -> onnx.ModelProto:
        """LeNet, untrained."""
        return infer_shapes(lenet(self.seed))

    @cached_property
    def network(self) -> Network:
        """LeNet, trained."""
        untrained = network_of(self.model)
        evaluator = Evaluator(untrained)
        training = Training(_BASE.rate, _BASE.epochs, self.seed)
        train(self.objective(evaluator), training, progress=self.told(f"LeNet {self.seed}"))
        return with_weights(untrained, evaluator.trained())

    @cached_property
    def groups(self) -> tuple[ChannelGroup, ...]:
        """What may shrink."""
        return prunable(self.network)

    @cached_property
    def costs(self) -> CostModel:
        """Under the profile of the paper's figures."""
        return CostModel(self.network, profile(PROFILE), self.groups)

    @cached_property
    def accuracy(self) -> float:
        """Of the trained network, on the digits kept apart."""
        return self.judge(Evaluator(self.network)).accuracy()

    def told(self, what: str) -> Progress:
        """Progress of a training."""
        return lambda at, _share: self.progress(f"{what}, {at}")

    def objective(self, evaluator: Evaluator, count: int | None = None) -> Objective:
        """Loss on the training digits, or on the first `count` of them."""
        images, labels = self.data.images[:count], self.data.labels[:count]
        return Objective(evaluator, {"image": images}, labels, batch=BATCH)

    def judge(self, evaluator: Evaluator) -> Objective:
        """Accuracy on the digits kept apart."""
        return Objective(evaluator, {"image": self.data.test_images}, self.data.test_labels, batch=500)

    def problem(self, budgets: Mapping[Kind, float]) -> StaticProblem:
        """For the static scheme."""
        samples = Samples({"image": self.data.images}, self.data.labels)
        test = Samples({"image": self.data.test_images}, self.data.test_labels)
        return StaticProblem(self.network, self.groups, Estimate(self.costs), budgets, samples, test)

    def shares(self, **parts: float) -> dict[Kind, float]:
        """Budgets as shares of what the network takes."""
        full = self.costs.total()
        return {kind: parts[kind] * getattr(full, kind) for kind in KINDS if kind in parts}

    def masked_accuracy(self, keep: Masks) -> float:
        """Accuracy of the trained network with channels masked."""
        evaluator = Evaluator(self.network)
        factors = GateFactors(self.network, self.groups)
        return self.judge(evaluator).accuracy(factors.factors(_floats(factors.joined(keep))))

    def tuned(self, keep: Masks, training: Training) -> tuple[float, float]:
        """Accuracy of the network with channels masked: as it is, and after training what is left."""
        evaluator = Evaluator(self.network)
        factors = GateFactors(self.network, self.groups)
        masks = factors.factors(_floats(factors.joined(keep)))
        judge = self.judge(evaluator)
        before = judge.accuracy(masks)
        train(
            self.objective(evaluator),
            training,
            gates=masks,
            progress=self.told("tuning"),
        )
        return before, judge.accuracy(masks)


def prunable(network: Network) -> tuple[ChannelGroup, ...]:
    """The groups of a network that may shrink."""
    return tuple(group for group in channel_groups(network) if group.prunable)


def _floats(values: NDArray[np.float64]) -> object:
    import torch  # noqa: PLC0415  (an extra)

    return torch.from_numpy(values.astype(np.float32))


def counts(keep: Masks) -> dict[int, int]:
    """How many channels of each group are kept."""
    return {group: int(mask.sum()) for group, mask in keep.items()}
