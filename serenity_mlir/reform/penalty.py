"""The published Z-step: a penalty in place of the budgets (ReForm, Eq. 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from serenity_mlir.reform.budgets import Kind
    from serenity_mlir.reform.estimate import Estimate

    Gates = Mapping[int, NDArray[np.float64]]

_STEPS = 100
_HALVINGS = 40
_TOLERANCE = 1e-10


def penalised(
    gates: Gates, estimate: Estimate, budgets: Mapping[Kind, float], weight: float
) -> dict[int, NDArray[np.float64]]:
    """argmin over Z of weight ‖C(Z)/b - 1‖² + ‖Z - V‖² / 2, where a layer has Σ|z| channels.

    Costs depend on a group's gates through their sum alone, so all gates of a group move by one
    amount (those that reach zero stay there): this shrinks them alike and chooses none to prune,
    which is why `project` is the default.

    Args:
        gates: V, for each group.
        estimate: Knows these groups, and whatever is budgeted.
        budgets: b.
        weight: λ2 / rho.
    """
    shifts = dict.fromkeys(gates, 0.0)
    value = _objective(gates, shifts, estimate, budgets, weight)
    for _ in range(_STEPS):
        wanted = _stationary(gates, shifts, estimate, budgets, weight)
        step = 1.0
        for _ in range(_HALVINGS):
            moved = {group: shift + step * (wanted[group] - shift) for group, shift in shifts.items()}
            found = _objective(gates, moved, estimate, budgets, weight)
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
    gates: Gates, shifts: Mapping[int, float], estimate: Estimate, budgets: Mapping[Kind, float]
) -> tuple[dict[Kind, float], dict[Kind, dict[int, float]]]:
    """Each cost as a share of its budget, less 1; and what one channel of each group adds.

    Costs are known for whole channels: between them they are taken as straight lines.
    """
    counts = {group: float(_shrunk(values, shifts[group]).sum()) for group, values in gates.items()}
    whole = {group: max(round(count), 1) for group, count in counts.items()}
    total = estimate.of(whole)
    each: dict[Kind, dict[int, float]] = {kind: {} for kind in budgets}
    for group, count in whole.items():
        less = estimate.of({**whole, group: count - 1})
        for kind in budgets:
            each[kind][group] = total[kind] - less[kind]
    excess: dict[Kind, float] = {}
    for kind, limit in budgets.items():
        beyond = sum((counts[group] - whole[group]) * each[kind][group] for group in gates)
        excess[kind] = (total[kind] + beyond) / (limit or 1.0) - 1.0
    return excess, each


def _objective(
    gates: Gates,
    shifts: Mapping[int, float],
    estimate: Estimate,
    budgets: Mapping[Kind, float],
    weight: float,
) -> float:
    excess, _ = _evaluated(gates, shifts, estimate, budgets)
    moved = sum(
        float(((_shrunk(values, shifts[group]) - np.abs(values)) ** 2).sum())
        for group, values in gates.items()
    )
    return weight * sum(value**2 for value in excess.values()) + moved / 2


def _stationary(
    gates: Gates,
    shifts: Mapping[int, float],
    estimate: Estimate,
    budgets: Mapping[Kind, float],
    weight: float,
) -> dict[int, float]:
    """For each group the shift at which its gradient would vanish, were the slopes constant."""
    excess, each = _evaluated(gates, shifts, estimate, budgets)
    slopes = {kind: 2 * excess[kind] / (limit or 1.0) for kind, limit in budgets.items()}
    return {
        group: weight * sum(slope * each[kind][group] for kind, slope in slopes.items()) for group in gates
    }
