"""A family of variants, and the choice of the best one that a budget allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from serenity_mlir.reform.budgets import Budgets, Kind


@dataclass(frozen=True, slots=True)
class Variant:
    """One member of a family.

    Attributes:
        name: Its entry point.
        measured: What it costs, by kind of budget, in the units of `budgets.UNITS`.
        accuracy: The share of samples that it gets right; None where nobody measured it.
    """

    name: str
    measured: Mapping[Kind, float] = field(default_factory=dict)
    accuracy: float | None = None


def pick(variants: Sequence[Variant], limits: Mapping[Kind, float]) -> Variant | None:
    """The best variant whose costs are within all limits, as the emitted C function picks it.

    Args:
        variants: The largest first.
        limits: The most of each kind; kinds that are left out are not limited.

    Returns:
        The most accurate one, or the first of those where accuracies are equal or not known; None where
        none is within the limits.

    Raises:
        KeyError: A limit is of a kind that was not measured.
    """
    budgets = Budgets(limits)
    fitting = [variant for variant in variants if budgets.hold(variant.measured)]
    return max(fitting, key=_known_accuracy, default=None)


def _known_accuracy(variant: Variant) -> float:
    return -1.0 if variant.accuracy is None else variant.accuracy
