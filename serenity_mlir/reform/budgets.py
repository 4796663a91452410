"""Budgets: what a pruned model may cost, any number of them at once."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from serenity_mlir.sizes import parse_size, size_text

Kind = Literal["macs", "memory", "energy", "latency", "ram", "rom"]
KINDS: tuple[Kind, ...] = get_args(Kind)
UNITS: dict[Kind, str] = {
    "macs": "MACs",
    "memory": "bytes",
    "energy": "mJ",
    "latency": "ms",
    "ram": "bytes",
    "rom": "bytes",
}
COMPILED: tuple[Kind, ...] = ("ram", "rom")
"""What only a compiled model has."""


ATTEMPTS = 16
"""How often a variant is made before its budgets count as out of reach."""

_TIGHTER = 0.01


@dataclass(frozen=True, slots=True)
class Amount:
    """A budget as it is given.

    Attributes:
        value: In the kind's unit, or a share of what the unpruned model takes.
        relative: Whether it is such a share.
        towards: How far to go from the unpruned model to there, 0 to 1.
    """

    value: float
    relative: bool = False
    towards: float = 1.0

    @classmethod
    def read(cls, text: str, kind: Kind) -> Amount:
        """`12.6e6`, `50%`, or, of bytes, `40KiB`.

        Raises:
            ValueError: It is neither a number nor a percentage, negative or not finite.
        """
        if UNITS[kind] == "bytes" and text.strip().lower().endswith("ib"):
            return cls(float(parse_size(text)))
        relative = text.strip().endswith("%")
        try:
            number = float(text.strip().removesuffix("%").replace("_", ""))
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < 0:
            raise ValueError(f"{text} is neither a number nor a percentage.")
        return cls(number / 100, relative=True) if relative else cls(number)

    def of(self, whole: float) -> float:
        """The budget, where the unpruned model takes `whole`."""
        there = self.value * whole if self.relative else self.value
        return there if there >= whole or self.towards == 1.0 else whole - (whole - there) * self.towards


@dataclass(frozen=True, slots=True)
class Budgets:
    """The most that each kind of resource may come to, in the unit of `UNITS`."""

    limits: Mapping[Kind, float]

    def excess(self, measured: Mapping[Kind, float]) -> dict[Kind, float]:
        """How far each budget that does not hold is exceeded, as a share of it (of 1 unit, where it is 0)."""
        return {
            kind: (measured[kind] - limit) / (limit or 1.0)
            for kind, limit in self.limits.items()
            if measured[kind] > limit
        }

    def hold(self, measured: Mapping[Kind, float]) -> bool:
        """Whether all of them hold."""
        return not self.excess(measured)


def tightened(goal: Mapping[Kind, float], excess: Collection[Kind], attempt: int) -> dict[Kind, float]:
    """Lower goals for what was made and found above its budget, each attempt by more than the one before."""
    return {
        kind: value * (1.0 - _TIGHTER * attempt) if kind in excess else value for kind, value in goal.items()
    }


def shown(kind: Kind, value: float) -> str:
    """A figure with its unit, for people."""
    if UNITS[kind] == "bytes":
        return size_text(round(value))
    return f"{value:,.0f} MACs" if kind == "macs" else f"{value:.6g} {UNITS[kind]}"
