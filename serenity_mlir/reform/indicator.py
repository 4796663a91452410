"""The priority indicator: what masking a filter costs in accuracy for what it saves (ReForm, Eq. 14-16).

    PI = LI · norm(CI) / (a_M norm(M) + a_E norm(E) + a_L norm(L))

LI is measured on layers (coupled groups of channels), CI on channels. Here the denominator sums over whatever
is budgeted, and `a` of a resource is how far its budget is exceeded: a budget that holds asks for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from serenity_mlir.reform.budgets import Kind

STEPS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of a layer that are masked to measure its LI."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Accuracy lost when shares of a layer are masked, least channels first.

    Attributes:
        shares: Ascending, in (0, 1].
        drops: Accuracy of the unpruned model less that of the masked one, 0 to 1, at each share.
    """

    shares: tuple[float, ...]
    drops: tuple[float, ...]

    def index(self, share: float, floor: float) -> float:
        """LI of the layer where `share` of it is masked: between measured shares a straight line.

        Args:
            share: 0 to 1.
            floor: The least that a measurement can tell from 0 (half a sample, say): where nothing is lost,
                channels and costs still have their say.
        """
        drop = float(np.interp(share, (0.0, *self.shares), (0.0, *np.maximum.accumulate(self.drops))))
        return max(drop, floor)


def share_masked(scores: npt.NDArray[np.floating], share: float) -> npt.NDArray[np.bool_]:
    """The keep mask without that share of channels, those of the least scores; at least one is kept."""
    count = min(round(share * len(scores)), len(scores) - 1)
    keep = np.ones(len(scores), dtype=bool)
    keep[np.argsort(scores, kind="stable")[:count]] = False
    return keep


def normalised(values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Values as shares of the largest; zeros where all are 0."""
    largest = float(np.max(values, initial=0.0))
    return np.asarray(values / largest if largest > 0 else np.zeros_like(values), dtype=np.float64)


def priorities(
    layer_index: npt.NDArray[np.floating],
    channel_index: npt.NDArray[np.floating],
    savings: Mapping[Kind, npt.NDArray[np.floating]],
    weights: Mapping[Kind, float],
) -> npt.NDArray[np.float64]:
    """PI of each candidate (Eq. 16); infinite where dropping it saves nothing that is asked for.

    Args:
        layer_index: LI of each candidate's layer.
        channel_index: norm(CI) of each candidate, 0 to 1.
        savings: Per resource, what dropping each candidate saves.
        weights: `a` per resource; those that it does not name count for nothing.
    """
    total = np.zeros(len(layer_index))
    for kind, weight in weights.items():
        total += weight * normalised(savings[kind])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = layer_index * channel_index / total
    return np.where(total > 0, found, np.inf)
