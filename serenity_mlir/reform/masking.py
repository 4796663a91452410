"""Algorithm 1 of ReForm: mask the filter of least priority until every budget holds; and two baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from serenity_mlir.reform.budgets import Budgets, Kind
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.groups import ChannelGroup
from serenity_mlir.reform.indicator import Sensitivity, normalised, priorities

Method = Literal["pi", "magnitude", "random"]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What is known of a group's channels.

    Attributes:
        scores: CI of each channel, or what stands for it: the least is masked first.
        sensitivity: LI; None for methods that look at channels alone.
    """

    scores: npt.NDArray[np.float64]
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One channel masked.

    Attributes:
        group: Its group's id.
        channel: Which of the group's.
        priority: What it was chosen by, least of all candidates.
    """

    group: int
    channel: int
    priority: float


class Masking:
    """Masks of one network's groups, and how they came about.

    Attributes:
        masks: By group's id: which channels are left.
        steps: Channels masked so far, in order; those put back are left out.
    """

    def __init__(
        self,
        groups: Sequence[ChannelGroup],
        estimate: Estimate,
        *,
        floor: float = 0.0,
        by_cost: bool = True,
    ) -> None:
        """Start with nothing masked.

        Args:
            groups: Those that can be pruned, uniform.
            estimate: Of what variants take.
            floor: The least drop of accuracy that can be told from none.
            by_cost: Whether channels are preferred that save more (Eq. 16); otherwise any that saves
                something will do.
        """
        self.masks: dict[int, npt.NDArray[np.bool_]] = {
            item.id: np.ones(item.size, dtype=bool) for item in groups
        }
        self.steps: list[Step] = []
        self._estimate, self._floor, self._by_cost = estimate, floor, by_cost
        self._held: dict[int, set[int]] = defaultdict(set)
        self._orders: dict[int, list[int]] = {}
        self._norms: dict[int, npt.NDArray[np.float64]] = {}
        self._rankings: Mapping[int, Ranking] = {}

    def rank(self, rankings: Mapping[int, Ranking]) -> None:
        """Go by these from now on; one for each group."""
        self._rankings = rankings
        for group, ranking in rankings.items():
            self._orders[group] = [int(item) for item in np.argsort(ranking.scores, kind="stable")]
            self._norms[group] = normalised(ranking.scores)

    @property
    def ranked(self) -> bool:
        """Whether it is known what to mask first."""
        return bool(self._rankings)

    @property
    def kept(self) -> dict[int, int]:
        """How many channels of each group are left."""
        return {group: int(mask.sum()) for group, mask in self.masks.items()}

    def until(self, budgets: Budgets) -> bool:
        """Mask channels until every budget is expected to hold.

        Args:
            budgets: On what the estimate knows.

        Returns:
            Whether they are; False where no channel that is left saves what is missing.
        """
        while True:
            kept = self.kept
            excess = budgets.excess(self._estimate.of(kept))
            if not excess:
                return True
            step = self._next(kept, budgets, excess)
            if step is None:
                return False
            self.masks[step.group][step.channel] = False
            self.steps.append(step)

    def take_back(self, budgets: Budgets, since: int) -> None:
        """Unmask what was masked beyond need, last first, as long as every budget is expected to hold.

        Args:
            budgets: All of which are expected to hold now.
            since: How many of the first steps are to stay.
        """
        for step in reversed(self.steps[since:]):
            self.masks[step.group][step.channel] = True
            if budgets.excess(self._estimate.of(self.kept)):
                self.masks[step.group][step.channel] = False
            else:
                self.steps.remove(step)

    def put_back(self, channels: Iterable[tuple[int, int]]) -> None:
        """Unmask channels (group, channel) for good: masking them saves nothing."""
        for group, channel in channels:
            self.masks[group][channel] = True
            self._held.setdefault(group, set()).add(channel)
        self.steps = [step for step in self.steps if step.channel not in self._held.get(step.group, ())]

    def _next(self, kept: Mapping[int, int], budgets: Budgets, excess: Mapping[Kind, float]) -> Step | None:
        least = {group: channel for group in kept if (channel := self._least(group, kept)) is not None}
        if not least:
            return None
        limits = {kind: budgets.limits[kind] for kind in excess}
        savings = self._estimate.savings(kept, limits, tuple(least))
        scores = np.array([self._norms[group][channel] for group, channel in least.items()])
        found = priorities(
            np.array([self._layer_index(group, kept) for group in least]),
            scores,
            {kind: np.array([saved[group] for group in least]) for kind, saved in savings.items()},
            excess,
        )
        if not self._by_cost:
            found = np.where(np.isfinite(found), scores, np.inf)
        best = int(np.argmin(found))
        if not np.isfinite(found[best]):
            return None
        group = tuple(least)[best]
        return Step(group, least[group], float(found[best]))

    def _least(self, group: int, kept: Mapping[int, int]) -> int | None:
        """The channel of a group to mask next; None where no more may go. One always stays."""
        if kept[group] < 2:
            return None
        mask, held = self.masks[group], self._held[group]
        return next((item for item in self._orders[group] if mask[item] and item not in held), None)

    def _layer_index(self, group: int, kept: Mapping[int, int]) -> float:
        sensitivity = self._rankings[group].sensitivity
        if sensitivity is None:
            return 1.0
        size = len(self.masks[group])
        return sensitivity.index((size - kept[group] + 1) / size, self._floor)
