"""The published Z-step: a penalty in place of the budgets (ReForm, Eq. 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.reform.costs import CostModel, Resources

    Gates = Mapping[int, NDArray[np.float64]]

_STEPS = 100
_HALVINGS = 40
_TOLERANCE = 1e-10


def penalised(
    gates: Gates, costs: CostModel, budgets: Mapping[str, float], weight: float
) -> dict[int, NDArray[np.float64]]:
    """argmin over Z of weight ‖C(Z)/b - 1‖² + ‖Z - V‖² / 2, where a layer has Σ|z| channels.

    Costs depend on a group's gates through their sum alone, so all gates of a group move by one
    amount (those that reach zero stay there): this shrinks them alike and chooses none to prune,
    which is why `project` is the default.

    Args:
        gates: V, for each group.
        costs: Knows these groups.
        budgets: b, by name of a resource.
        weight: λ2 / rho.
    """
    shifts = dict.fromkeys(gates, 0.0)
    value = _objective(gates, shifts, costs, budgets, weight)
    for _ in range(_STEPS):
        wanted = _stationary(gates, shifts, costs, budgets, weight)
        step = 1.0
        for _ in range(_HALVINGS):
            moved = {group: shift + step * (wanted[group] - shift) for group, shift in shifts.items()}
            found = _objective(gates, moved, costs, budgets, weight)
            if found < value:
                break
            step /= 2
        if value - found <= _TOLERANCE * max(value, 1.0):
            break
        shifts, value = moved, found
    return {group: np.sign(values) * _shrunk(values, shifts[group]) for group, values in gates.items()}


def _shrunk(values: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
    return np.asarray(np.maximum(np.abs(values) - shift, 0.0))


def _evaluated(
    gates: Gates, shifts: Mapping[int, float], costs: CostModel, budgets: Mapping[str, float]
) -> tuple[dict[str, float], dict[int, Resources]]:
    """Each cost as a share of its budget, less 1; and what one channel of each group costs.

    Costs are known for whole channels: between them they are taken as straight lines.
    """
    counts = {group: float(_shrunk(values, shifts[group]).sum()) for group, values in gates.items()}
    whole = {group: max(round(count), 1) for group, count in counts.items()}
    total = costs.total(whole)
    each = {group: costs.per_channel(group, whole) for group in gates}
    excess = {}
    for name, limit in budgets.items():
        beyond = sum((counts[group] - whole[group]) * getattr(each[group], name) for group in gates)
        excess[name] = (getattr(total, name) + beyond) / limit - 1.0
    return excess, each


def _objective(
    gates: Gates, shifts: Mapping[int, float], costs: CostModel, budgets: Mapping[str, float], weight: float
) -> float:
    excess, _ = _evaluated(gates, shifts, costs, budgets)
    moved = sum(
        float(((_shrunk(values, shifts[group]) - np.abs(values)) ** 2).sum())
        for group, values in gates.items()
    )
    return weight * sum(value**2 for value in excess.values()) + moved / 2


def _stationary(
    gates: Gates, shifts: Mapping[int, float], costs: CostModel, budgets: Mapping[str, float], weight: float
) -> dict[int, float]:
    """For each group the shift at which its gradient would vanish, were the slopes constant."""
    excess, each = _evaluated(gates, shifts, costs, budgets)
    slopes = {name: 2 * excess[name] / limit for name, limit in budgets.items()}
    return {
        group: weight * sum(slope * getattr(each[group], name) for name, slope in slopes.items())
        for group in gates
    }
