"""Adaptive soft budgeting (SERENITY, section 3.2, Algorithm 2).

A search over the budget within which the dynamic programming runs: below the optimum it soon says
that there is no solution, far above it prunes too little and a step takes too long, between them it
finds the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.serenity.dp import DpResult, Outcome, dynamic_programming
from serenity_mlir.schedulers.side import Side

STEP_TIME_LIMIT = 1.0
"""T, in seconds, unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of the dynamic programming.

    Attributes:
        soft_budget: Bytes above which it pruned.
        step_time_limit: Seconds that one of its steps might take.
        result: How it ended.
    """

    soft_budget: int
    step_time_limit: float
    result: DpResult


def adaptive_soft_budgeting(
    side: Side, budget: Budget, *, hard_budget: int, step_time_limit: float = STEP_TIME_LIMIT
) -> list[Attempt]:
    """Runs the dynamic programming within one soft budget after another until it finds the optimum.

    The first is the hard budget. After a timeout it is halved. After "no solution" it becomes the
    mean of what failed and the least budget above it that timed out: the paper takes the mean with
    the budget tried before, which two failures in a row would keep too small for ever. A budget
    that is proven too small is never tried again, and where there is none left between those and one
    that timed out, T is doubled: the paper leaves it to its user to find a T that suffices. An
    attempt that takes half of the states that are left has timed out, too.

    Args:
        side: The problem, in the direction in which it is to be ordered.
        budget: What may be spent by all attempts together.
        hard_budget: The peak of an order that is known (Kahn's algorithm), bytes.
        step_time_limit: T at first, seconds.

    Returns:
        All attempts; the last one has the solution unless the budget did not suffice.
    """
    attempts: list[Attempt] = []
    soft_budget, proven = hard_budget, 0
    timed_out: set[int] = set()
    while not budget.spent:
        room = budget.part(states=max(1, budget.states // 2))
        result = dynamic_programming(side, room, soft_budget=soft_budget, step_time_limit=step_time_limit)
        attempts.append(Attempt(soft_budget, step_time_limit, result))
        proven = max(proven, result.bound)
        if result.outcome is Outcome.SOLUTION:
            break
        if result.outcome is Outcome.NO_SOLUTION:
            above = min((tried for tried in timed_out if tried >= proven), default=hard_budget)
            soft_budget = (proven + above) // 2
            continue
        timed_out.add(soft_budget)
        if soft_budget <= proven:
            step_time_limit *= 2
            timed_out.clear()
        elif soft_budget // 2 >= proven:
            soft_budget //= 2
        else:
            soft_budget = (proven + soft_budget) // 2
    return attempts
