"""The projection of gates onto every budget at once: the Z-step of the static scheme (ReForm, Eq. 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.reform.costs import CostModel, Resources

LEAST_KEPT = 1
"""Channels that every group keeps: a layer without any has no value to compute."""

_SPARED = 1 / 8
"""The share of a group that stays as long as others can give: a gate knows nothing of how many are left."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What is kept.

    Attributes:
        keep: For each group, which of its channels; a channel that is worth more is never dropped before one
            of the same group that is worth less.
        resources: What they cost.
        unmet: Names of budgets that do not hold even so; the groups that matter to them are down to
            `LEAST_KEPT` channels.
    """

    keep: Mapping[int, NDArray[np.bool_]]
    resources: Resources
    unmet: tuple[str, ...]


def project(
    gates: Mapping[int, NDArray[np.float64]], costs: CostModel, budgets: Mapping[str, float]
) -> Projection:
    """Drops the channel of least v² per unit of violated cost until every budget holds.

    The projection proper, which keeps the greatest sum of v² within several coupled budgets, is a
    knapsack of products; this takes its greedy solution, with costs evaluated anew after each
    channel, and then takes back what still fits. All channels of a group cost the same, so that
    within a group only the order of their v² matters.

    Args:
        gates: A value v for each channel of each group that may shrink.
        costs: Knows these groups.
        budgets: Upper limits by name of a resource (`Resources`): each must hold.
    """
    walk = _Walk(gates, costs, budgets)
    for spared in (_SPARED, 0.0):
        floors = {group: max(LEAST_KEPT, int(spared * len(values))) for group, values in gates.items()}
        while walk.violated() and (least := walk.cheapest(floors)) is not None:
            walk.change(least, -1)
    walk.take_back()
    total = costs.total(walk.kept)
    unmet = tuple(name for name, limit in budgets.items() if getattr(total, name) > limit)
    return Projection(walk.masks(), total, unmet)


class _Walk:
    """Counts of kept channels on their way into the budgets."""

    def __init__(
        self, gates: Mapping[int, NDArray[np.float64]], costs: CostModel, budgets: Mapping[str, float]
    ) -> None:
        self.costs, self.budgets = costs, budgets
        self.kept = {group: len(values) for group, values in gates.items()}
        # Stable, so that equal gates drop from the end, whatever the platform.
        self.orders = {group: np.argsort(-(values**2), kind="stable") for group, values in gates.items()}
        self.worth = {group: gates[group][order] ** 2 for group, order in self.orders.items()}
        self.total = costs.total(self.kept)
        self._savings: dict[int, Resources] = {}
        self._neighbours = _neighbours(costs, self.kept)

    def violated(self) -> dict[str, float]:
        """By how much each budget that does not hold is exceeded."""
        over = {name: getattr(self.total, name) - limit for name, limit in self.budgets.items()}
        return {name: excess for name, excess in over.items() if excess > 0}

    def saving(self, group: int) -> Resources:
        """What dropping one more channel of a group saves."""
        if group not in self._savings:
            self._savings[group] = self.costs.per_channel(group, self.kept)
        return self._savings[group]

    def cheapest(self, floors: Mapping[int, int]) -> int | None:
        """The group whose next channel is worth least for what it saves; None where none saves anything.

        Args:
            floors: How many channels of each group are to stay.
        """
        excesses = self.violated()
        best: tuple[float, int] | None = None
        for group, count in self.kept.items():
            if count <= floors[group]:
                continue
            saving = self.saving(group)
            # A share of each excess: units differ, and nobody needs more than all of it.
            gain = sum(min(getattr(saving, name) / excess, 1.0) for name, excess in excesses.items())
            if gain > 0:
                best = min(best or (np.inf, group), (float(self.worth[group][count - 1]) / gain, group))
        return None if best is None else best[1]

    def change(self, group: int, channels: int) -> None:
        """Keeps more or fewer channels of a group."""
        self.kept[group] += channels
        self.total = self.costs.total(self.kept)
        for other in self._neighbours[group]:
            self._savings.pop(other, None)

    def take_back(self) -> None:
        """Keeps again what the last steps dropped beyond need: the most valuable first."""
        if self.violated():
            return
        fits = {group for group, count in self.kept.items() if count < len(self.worth[group])}
        while fits:
            group = max(fits, key=lambda each: (self.worth[each][self.kept[each]], -each))
            self.change(group, 1)
            if self.violated():
                self.change(group, -1)
                fits.discard(group)  # costs only rise from here on
            elif self.kept[group] == len(self.worth[group]):
                fits.discard(group)

    def masks(self) -> dict[int, NDArray[np.bool_]]:
        """Which channels are kept."""
        masks = {}
        for group, count in self.kept.items():
            mask = np.zeros(len(self.worth[group]), dtype=np.bool_)
            mask[self.orders[group][:count]] = True
            masks[group] = mask
        return masks


def _neighbours(costs: CostModel, groups: Mapping[int, int]) -> dict[int, set[int]]:
    """For each group those whose savings depend on how much of it is kept: they share a layer."""
    layers = {group: set(costs.touched(group)) for group in groups}
    return {group: {other for other in groups if layers[other] & layers[group]} for group in groups}
