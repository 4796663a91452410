"""What a variant is expected to take of every kind of resource, corrected by what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from serenity_mlir.reform.arena import ArenaModel
from serenity_mlir.reform.budgets import COMPILED, Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.kept_shapes import Kept


class Estimate:
    """Resources of a network by how many channels each group keeps.

    The estimate of what is compiled (RAM, ROM) is that of `ArenaModel`, with the ratio and the fixed part of
    the last measurement; the four of `CostModel` are exact as long as all that is masked can be removed.
    """

    def __init__(self, costs: CostModel, arena: ArenaModel | None = None) -> None:
        """Prepare to estimate.

        Args:
            costs: Of the unpruned network, with the groups that may shrink.
            arena: The same network's; None where neither RAM nor ROM is budgeted.
        """
        self.costs = costs
        self._arena = arena
        self._ratio: dict[Kind, float] = {}
        self._fixed: dict[Kind, float] = {}

    def of(self, kept: Kept) -> dict[Kind, float]:
        """What the variant with `kept` channels of each group takes, of every kind that is known."""
        return {
            kind: raw * self._ratio.get(kind, 1.0) + self._fixed.get(kind, 0.0)
            for kind, raw in self._raw(kept).items()
        }

    def correct(self, kept: Kept, measured: Mapping[Kind, float], fixed: Mapping[Kind, float]) -> None:
        """From now on the estimate of `kept` is what was measured of it.

        Args:
            kept: How many channels of each group it has.
            measured: What it takes.
            fixed: The part of it that no removal of channels makes smaller.
        """
        raw = self._raw(kept)
        for kind, value in measured.items():
            self._fixed[kind] = fixed.get(kind, 0.0)
            if raw.get(kind):
                self._ratio[kind] = (value - self._fixed[kind]) / raw[kind]

    def savings(
        self, kept: Kept, limits: Mapping[Kind, float], groups: Sequence[int]
    ) -> dict[Kind, Mapping[int, float]]:
        """For each kind in `limits`, and each of `groups`, what dropping one more channel saves.

        Of RAM these are the bytes saved at all steps that are above its limit, so that peaks as high as the
        highest are all worked on.
        """
        found: dict[Kind, Mapping[int, float]] = {}
        formulae = any(kind not in COMPILED for kind in limits)
        of_costs = {group: self.costs.per_channel(group, kept) for group in groups if formulae}
        for kind, limit in limits.items():
            if kind not in COMPILED:
                found[kind] = {group: getattr(saved, kind) for group, saved in of_costs.items()}
                continue
            saved_bytes = self._saved(kind, limit, kept, groups)
            found[kind] = {group: float(saved_bytes[group]) for group in groups}
        return found

    def lacking(self, kind: Kind, kept: Kept, limit: float) -> float:
        """How much to save until a kind holds, in the unit of its `savings`; infinite if none help."""
        if kind not in COMPILED:
            return self.of(kept)[kind] - limit
        ratio, fixed = self._ratio.get(kind, 1.0), self._fixed.get(kind, 0.0)
        if ratio <= 0:
            return np.inf
        wanted = (limit - fixed) / ratio
        if kind == "rom":
            return self._raw(kept)[kind] - wanted
        beyond = self._known_arena(kind).live(kept) - wanted
        return float(beyond[beyond > 0].sum())

    @property
    def corrections(self) -> tuple[dict[Kind, float], dict[Kind, float]]:
        """Ratio and fixed part of each kind, as `correct` found them."""
        return dict(self._ratio), dict(self._fixed)

    @corrections.setter
    def corrections(self, found: tuple[Mapping[Kind, float], Mapping[Kind, float]]) -> None:
        self._ratio, self._fixed = dict(found[0]), dict(found[1])

    def _known_arena(self, kind: Kind) -> ArenaModel:
        if self._arena is None:
            raise ValueError(f"{kind} is not estimated")
        return self._arena

    def _saved(self, kind: Kind, limit: float, kept: Kept, groups: Sequence[int]) -> Mapping[int, int]:
        arena = self._known_arena(kind)
        if kind == "rom":
            return {group: arena.constants_per_channel(group, kept) for group in groups}
        live = arena.live(kept)
        above = live * self._ratio.get("ram", 1.0) + self._fixed.get("ram", 0.0) > limit
        found = arena.peak_per_channel(kept, above if above.any() else live == np.max(live, initial=0))
        if any(found[group] for group in groups):
            return found
        # The model does not see what is in the way: anything that is live at some time may be.
        return arena.peak_per_channel(kept, np.ones_like(above))

    def _raw(self, kept: Kept) -> dict[Kind, float]:
        total = self.costs.total(kept)
        raw: dict[Kind, float] = {
            "macs": total.macs,
            "memory": total.memory,
            "energy": total.energy,
            "latency": total.latency,
        }
        if self._arena is not None:
            raw["ram"] = float(np.max(self._arena.live(kept), initial=0))
            raw["rom"] = float(self._arena.constants(kept))
        return raw
