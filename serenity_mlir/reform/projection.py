"""The projection of gates onto every budget at once: the Z-step of the static scheme (ReForm, Eq. 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.reform.budgets import COMPILED, Kind

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from serenity_mlir.reform.costs import CostModel, Resources
    from serenity_mlir.reform.estimate import Estimate

LEAST_KEPT = 1
"""Channels that every group keeps: a layer without any has no value to compute."""

_LEAST = 1e-12
"""What is still to be saved where rounding hides it."""

_SPARED = 1 / 8
"""The share of a group that stays as long as others can give: a gate knows nothing of how many are left."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What is kept.

    Attributes:
        keep: For each group, which of its channels; a channel that is worth more is never dropped before one
            of the same group that is worth less.
        resources: What they cost by the formulae.
        unmet: Budgets that do not hold even so; the groups that matter to them are down to
            `LEAST_KEPT` channels, or to those that are held.
    """

    keep: Mapping[int, NDArray[np.bool_]]
    resources: Resources
    unmet: tuple[Kind, ...]


def project(
    gates: Mapping[int, NDArray[np.float64]],
    estimate: Estimate,
    budgets: Mapping[Kind, float],
    held: Mapping[int, Collection[int]] | None = None,
) -> Projection:
    """Drops the channel of least v² per unit of violated cost until every budget holds.

    The projection proper, which keeps the greatest sum of v² within several coupled budgets, is a
    knapsack of products; this takes its greedy solution, with costs evaluated anew after each
    channel, and then takes back what still fits. All channels of a group cost the same, so that
    within a group only the order of their v² matters.

    Args:
        gates: A value v for each channel of each group that may shrink.
        estimate: Knows these groups, and whatever is budgeted.
        budgets: Upper limits: each must hold.
        held: Channels that stay whatever they are worth, by group.
    """
    held = held or {}
    values = {group: part.copy() for group, part in gates.items()}
    for group, channels in held.items():
        values[group][list(channels)] = np.inf
    walk = _Walk(values, estimate, budgets)
    for spared in (_SPARED, 0.0):
        floors = {
            group: max(LEAST_KEPT, int(spared * len(part)), len(held.get(group, ())))
            for group, part in values.items()
        }
        while walk.violated() and (least := walk.cheapest(floors)) is not None:
            walk.change(least, -1)
    walk.take_back()
    unmet = tuple(kind for kind in budgets if kind in walk.violated())
    return Projection(walk.masks(), estimate.costs.total(walk.kept), unmet)


class _Walk:
    """Counts of kept channels on their way into the budgets."""

    def __init__(
        self, gates: Mapping[int, NDArray[np.float64]], estimate: Estimate, budgets: Mapping[Kind, float]
    ) -> None:
        self.estimate, self.costs, self.budgets = estimate, estimate.costs, budgets
        self.kept = {group: len(values) for group, values in gates.items()}
        # Stable, so that equal gates drop from the end, whatever the platform.
        self.orders = {group: np.argsort(-(values**2), kind="stable") for group, values in gates.items()}
        self.worth = {group: gates[group][order] ** 2 for group, order in self.orders.items()}
        self.total = estimate.of(self.kept)
        self._savings: dict[int, Resources] = {}
        self._neighbours = _neighbours(self.costs, self.kept)

    def violated(self) -> list[Kind]:
        """The budgets that do not hold."""
        return [kind for kind, limit in self.budgets.items() if self.total[kind] > limit]

    def saved(self, kind: Kind, groups: Sequence[int]) -> Mapping[int, float]:
        """What dropping one more channel of each group saves, as a share of what is to be saved."""
        limit = self.budgets[kind]
        lacking = self.estimate.lacking(kind, self.kept, limit)
        if kind in COMPILED:
            found = self.estimate.savings(self.kept, {kind: limit}, groups)[kind]
        else:
            found = {group: getattr(self._by_formulae(group), kind) for group in groups}
        lacking = max(lacking, _LEAST)
        return {group: value / lacking for group, value in found.items()}

    def _by_formulae(self, group: int) -> Resources:
        if group not in self._savings:
            self._savings[group] = self.costs.per_channel(group, self.kept)
        return self._savings[group]

    def cheapest(self, floors: Mapping[int, int]) -> int | None:
        """The group whose next channel is worth least for what it saves; None where none saves anything.

        Args:
            floors: How many channels of each group are to stay.
        """
        left = [group for group, count in self.kept.items() if count > floors[group]]
        shares = [self.saved(kind, left) for kind in self.violated()]
        best: tuple[float, int] | None = None
        for group in left:
            # A share of each excess: units differ, and nobody needs more than all of it.
            gain = sum(min(share[group], 1.0) for share in shares)
            if gain > 0:
                worth = float(self.worth[group][self.kept[group] - 1])
                best = min(best or (np.inf, group), (worth / gain, group))
        return None if best is None else best[1]

    def change(self, group: int, channels: int) -> None:
        """Keeps more or fewer channels of a group."""
        self.kept[group] += channels
        self.total = self.estimate.of(self.kept)
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
