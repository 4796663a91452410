"""What a variant is expected to take of every kind of resource, corrected by what was measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from serenity_mlir.reform.arena import ArenaModel
from serenity_mlir.reform.budgets import COMPILED, Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.groups import ChannelGroup
from serenity_mlir.reform.kept_shapes import Kept
from serenity_mlir.reform.network import Network
from serenity_mlir.reform.profile import Profile


class Estimate:
    """Resources of a network by how many channels each group keeps.

    The estimate of what is compiled (RAM, ROM) is that of `ArenaModel`, with the ratio and the fixed part of
    the last measurement; the four of `CostModel` are exact as long as all that is masked can be removed.
    """

    def __init__(
        self, network: Network, groups: Sequence[ChannelGroup], profile: Profile, kinds: Collection[Kind]
    ) -> None:
        """Prepare to estimate.

        Args:
            network: Unpruned.
            groups: What may shrink.
            profile: Of the device.
            kinds: What is budgeted; RAM and ROM are estimated only where they are.

        Raises:
            SerenityError: Something has no constant size.
        """
        self.costs = CostModel(network, profile, groups)
        self.kinds = tuple(kinds)
        self._arena = ArenaModel(network, groups) if set(COMPILED) & set(kinds) else None
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

    def _saved(self, kind: Kind, limit: float, kept: Kept, groups: Sequence[int]) -> Mapping[int, int]:
        if self._arena is None:
            raise ValueError(f"{kind} is not estimated")
        if kind == "rom":
            return {group: self._arena.constants_per_channel(group, kept) for group in groups}
        live = self._arena.live(kept)
        above = live * self._ratio.get("ram", 1.0) + self._fixed.get("ram", 0.0) > limit
        return self._arena.peak_per_channel(kept, above if above.any() else live == np.max(live, initial=0))

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
