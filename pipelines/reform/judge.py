"""How good a masked network's outputs are: accuracy on labels, or agreement with the unpruned network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from serenity_mlir.errors import SerenityError

if TYPE_CHECKING:
    import numpy.typing as npt

    from serenity_mlir.reform.network import Network

    Arrays = Sequence[npt.NDArray[Any]]

Measure = Literal["accuracy", "agreement", "fidelity"]
MEANING: dict[Measure, str] = {
    "accuracy": "share of samples whose most probable class is their label",
    "agreement": "share of samples whose most probable class is that of the unpruned model (no labels given)",
    "fidelity": "1 less the squared difference from the unpruned model's outputs, over their own square, "
    "0 at least (no labels given, and the model is no classifier)",
}

_BEHIND_SCORES = ("QuantizeLinear", "DequantizeLinear", "Reshape", "Squeeze", "Flatten", "Identity", "Cast")
_LEAST = 1e-12


class Judge:
    """Scores and losses of one network's outputs.

    Attributes:
        measure: What the score is: labels make it accuracy; without them a network with one output of
            (samples, classes) is held to the classes that it chose unpruned, any other to its outputs.
        labels: The classes that count as right; None for fidelity.
    """

    def __init__(self, network: Network, unpruned: Arrays, labels: npt.NDArray[np.int64] | None) -> None:
        """Decide what to measure.

        Args:
            network: Its first output has the scores of classes.
            unpruned: Outputs of the unpruned network, samples first.
            labels: The class of each sample; None where nobody knows.

        Raises:
            SerenityError: There are labels, and the first output cannot be scores of classes; or outputs
                differ in their first dimension.
        """
        if len({len(output) if output.ndim else 0 for output in unpruned}) != 1:
            raise SerenityError(
                "the model's outputs differ in their first dimension, so samples cannot be told apart",
                hint="export the model with a batch dimension first in every output",
            )
        self._unpruned = [output.astype(np.float64) for output in unpruned]
        self._normalised = _normalised(network)
        scores = unpruned[0].reshape(len(unpruned[0]), -1)
        classes = scores.shape[1]
        self.measure: Measure
        self.labels: npt.NDArray[np.int64] | None
        if labels is not None:
            if len(scores) != len(labels) or classes < 2 or labels.min() < 0 or labels.max() >= classes:
                raise SerenityError(
                    f"{len(labels)} labels from {labels.min()} to {labels.max()} do not fit the model's first"
                    f" output, {len(scores)} times {classes} values",
                    hint="leave labels out: then the variant is held to the unpruned model's outputs",
                )
            self.measure, self.labels = "accuracy", labels
        elif len(unpruned) == 1 and unpruned[0].ndim == 2 and classes > 1:
            self.measure, self.labels = "agreement", scores.argmax(axis=1)
        else:
            self.measure, self.labels = "fidelity", None

    def score(self, outputs: Arrays) -> float:
        """0 to 1, of outputs for the first samples, or for all."""
        if self.labels is None:
            return max(0.0, 1.0 - float(self.losses(outputs).mean()))
        found = outputs[0].reshape(len(outputs[0]), -1).argmax(axis=1)
        return float((found == self.labels[: len(found)]).mean())

    def losses(self, outputs: Arrays) -> npt.NDArray[np.float64]:
        """Of each of the first samples, or of all: cross-entropy; a relative squared error for fidelity."""
        if self.labels is None:
            return self._errors(outputs)
        count = len(outputs[0])
        scores = outputs[0].reshape(count, -1).astype(np.float64)
        if self._normalised == "probabilities":
            scores = np.log(np.maximum(scores, _LEAST))
        elif self._normalised == "no":
            top = scores.max(axis=1, keepdims=True)
            scores = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
        found: npt.NDArray[np.float64] = -scores[np.arange(count), self.labels[:count]]
        return found

    def _errors(self, outputs: Arrays) -> npt.NDArray[np.float64]:
        """The squared error of each row of each output, over the mean square of that output unpruned."""
        total = np.zeros(len(outputs[0]))
        for found, unpruned in zip(outputs, self._unpruned, strict=True):
            wanted = unpruned[: len(found)]
            rows = ((found - wanted) ** 2).reshape(len(found), -1).mean(axis=1)
            total += rows / max(float((unpruned**2).mean()), _LEAST)
        return total / len(outputs)


def _normalised(network: Network) -> Literal["no", "probabilities", "logarithms"]:
    """What the first output's scores are, by the op that makes them."""
    node = network.producers.get(network.outputs[0])
    while node is not None and node.op in _BEHIND_SCORES:
        node = network.producers.get(node.input(0))
    if node is not None and node.op == "Softmax":
        return "probabilities"
    return "logarithms" if node is not None and node.op == "LogSoftmax" else "no"
