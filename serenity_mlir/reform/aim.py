"""What gates are projected onto: budgets as estimated, put right by what is measured of the pruned model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.reform.budgets import ATTEMPTS, Budgets, Kind, tightened
from serenity_mlir.reform.projection import Projection, project

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.reform.estimate import Estimate

    Gates = Mapping[int, NDArray[np.float64]]
    Masks = Mapping[int, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a pruned model was found to take.

    Attributes:
        figures: Of every kind that is budgeted.
        fixed: The part of it that no removal of channels makes smaller.
        stuck: Channels (group, channel) that are masked and could not leave.
    """

    figures: Mapping[Kind, float]
    fixed: Mapping[Kind, float] = field(default_factory=dict)
    stuck: frozenset[tuple[int, int]] = frozenset()


Measure = Callable[["Masks"], Measured]
"""Prunes a model so, and measures what is left."""


@dataclass(slots=True)
class Aim:
    """Budgets of one model, and what measurements taught.

    Attributes:
        estimate: Of the model's variants.
        limits: The budgets.
        goal: What the estimate is brought to: less than a limit where that was measured to be exceeded.
        held: Channels that stay, by group: masking them saves nothing.
    """

    estimate: Estimate
    limits: Mapping[Kind, float]
    goal: dict[Kind, float] = field(default_factory=dict)
    held: dict[int, set[int]] = field(default_factory=dict)
    _settled: set[tuple[tuple[int, int], ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.goal = self.goal or dict(self.limits)

    def project(self, gates: Gates) -> Projection:
        """Onto the goal."""
        return project(gates, self.estimate, self.goal, self.held)

    def settle(self, gates: Gates, measure: Measure) -> Projection:
        """Projects until every budget holds as measured, or nothing is left to drop.

        What takes as many channels of each group as a variant that this came to before is not measured again.

        Args:
            gates: A value for each channel of each group.
            measure: Makes and measures a variant.
        """
        attempt = 1
        while True:
            found = self.project(gates)
            counts = self._counts(found.keep)
            if counts in self._settled:
                return found
            measured = measure(found.keep)
            if self.learn(found.keep, measured):
                continue
            excess = self.excess(measured)
            if bool(excess) == bool(found.unmet) or attempt == ATTEMPTS:
                self._settled.add(counts)
                return found
            # Where it holds against all estimates, these are right by now and give back what was too much.
            self.goal = tightened(self.goal, excess, attempt)
            attempt += 1

    def learn(self, keep: Masks, measured: Measured) -> bool:
        """Puts the estimate right by what was measured.

        Returns:
            Whether channels could not leave of which nobody knew: those stay from now on, and what was
            measured with them says nothing.
        """
        before = sum(map(len, self.held.values()))
        for group, channel in measured.stuck:
            self.held.setdefault(group, set()).add(channel)
        if sum(map(len, self.held.values())) > before:
            return True
        self.estimate.correct(dict(self._counts(keep)), measured.figures, measured.fixed)
        return False

    def broken(self, keep: Masks, measured: Measured, attempt: int) -> None:
        """Aims lower, as a variant that had been settled on does not hold with other weights."""
        self._settled.discard(self._counts(keep))
        if not self.learn(keep, measured):
            self.goal = tightened(self.goal, self.excess(measured), attempt)

    def excess(self, measured: Measured) -> dict[Kind, float]:
        """How far each budget that does not hold is exceeded, as a share of it."""
        return Budgets(self.limits).excess(measured.figures)

    @staticmethod
    def _counts(keep: Masks) -> tuple[tuple[int, int], ...]:
        return tuple((group, int(mask.sum())) for group, mask in sorted(keep.items()))
