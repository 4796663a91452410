"""What training minimises, and how good a network is: for classifiers, on labelled samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from serenity_mlir.errors import SerenityError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.pipelines.reform.train.evaluator import Evaluator
    from serenity_mlir.reform.network import Network

Gates = Mapping[str, torch.Tensor]

_BEHIND_SCORES = ("QuantizeLinear", "DequantizeLinear", "Reshape", "Squeeze", "Flatten", "Identity", "Cast")


class Objective:
    """Loss and accuracy of a classifier.

    Args:
        evaluator: Its first output has the classes along its last axis that is not 1, as logits,
            probabilities (of a Softmax) or their logarithms.
        inputs: Samples by the name of each input, along the first axis.
        labels: The class of each sample.
        batch: Samples in one pass. A network of fixed batch size is given that many at once.

    Raises:
        SerenityError: Inputs are missing, or differ in their number of samples.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        inputs: Mapping[str, NDArray[np.generic]],
        labels: NDArray[np.integer],
        *,
        batch: int,
    ) -> None:
        network = evaluator.network
        missing = [name for name in network.inputs if name not in inputs]
        if missing:
            raise SerenityError(
                f"no samples for input '{missing[0]}'", hint=f"there are {', '.join(inputs) or 'none'}"
            )
        counts = {name: len(inputs[name]) for name in network.inputs} | {"labels": len(labels)}
        if len(set(counts.values())) > 1:
            raise SerenityError(f"samples differ in number: {counts}", hint="give each sample one label")
        self.evaluator = evaluator
        self.inputs = {name: torch.from_numpy(np.ascontiguousarray(inputs[name])) for name in network.inputs}
        self.labels = torch.from_numpy(np.asarray(labels, dtype=np.int64))
        self.batch = batch
        self._fixed = network.tensors[network.inputs[0]].shape[0]
        self._logits, self._normalised = _head(network)

    def log_probabilities(self, chosen: torch.Tensor, gates: Gates | None = None) -> torch.Tensor:
        """Of each class, for the samples chosen: (samples, classes)."""
        count = len(chosen)
        if self._fixed is not None:
            chosen = functional.pad(chosen, (0, self._fixed - count))  # with the first sample, cut off below
        inputs = {name: value[chosen] for name, value in self.inputs.items()}
        logits = self.evaluator.run(inputs, gates=gates, keep=[self._logits])[self._logits]
        logits = logits.reshape(len(chosen), -1)[:count]
        return logits if self._normalised else torch.log_softmax(logits, dim=1)

    def backward(self, chosen: NDArray[np.int64], gates: Gates | None = None) -> float:
        """The mean cross-entropy of the samples chosen; its gradients are added to the leaves'.

        Raises:
            SerenityError: The loss is not finite.
        """
        total = 0.0
        for part in self._chunks(chosen):
            loss = functional.nll_loss(
                self.log_probabilities(part, gates), self.labels[part], reduction="sum"
            )
            loss = loss / len(chosen)
            loss.backward(retain_graph=gates is not None)
            total += float(loss.detach())
        if not np.isfinite(total):
            raise SerenityError("training diverges: the loss is not finite", hint="lower the learning rate")
        return total

    def accuracy(self, gates: Gates | None = None) -> float:
        """The share of samples whose most probable class is their label."""
        right = 0
        with torch.no_grad():
            for part in self._chunks(np.arange(len(self.labels))):
                guess = self.log_probabilities(part, gates).argmax(dim=1)
                right += int((guess == self.labels[part]).sum())
        return right / len(self.labels)

    def batches(self, epoch: int, seed: int) -> list[NDArray[np.int64]]:
        """The samples of each step of an epoch, in an order that depends on these two numbers alone."""
        order = np.random.default_rng([seed, epoch]).permutation(len(self.labels))
        return [order[start : start + self.batch] for start in range(0, len(order), self.batch)]

    def _chunks(self, chosen: NDArray[np.int64]) -> Iterator[torch.Tensor]:
        size = self._fixed or self.batch
        for start in range(0, len(chosen), size):
            yield torch.from_numpy(chosen[start : start + size])


def _head(network: Network) -> tuple[str, bool]:
    """The tensor that holds scores of classes, and whether they are logarithms of probabilities."""
    output = network.outputs[0]
    last = network.producers.get(output)
    while last is not None and last.op in _BEHIND_SCORES:
        last = network.producers.get(last.input(0))
    if last is not None and last.op == "Softmax":
        return last.inputs[0], False  # the logarithm of what a Softmax rounds to zero is lost
    return output, last is not None and last.op == "LogSoftmax"
