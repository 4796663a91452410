"""Dynamic programming over zero-indegree sets (SERENITY, section 3.1, Algorithm 1).

Step i holds, for each set of ops that may be ready after i ops, the partial schedule of least peak
that leads there. The zero-indegree set is the signature: what has run is all that neither is in it
nor descends from it, so it names the same state as a downset does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf
from time import perf_counter

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.side import Side


class Outcome(Enum):
    """How a run of the dynamic programming ended (Algorithm 2's flag)."""

    SOLUTION = "solution"
    NO_SOLUTION = "no solution"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class DpResult:
    """What one run found.

    Attributes:
        outcome: Whether it came to its end.
        order: Nodes in an order of least peak; empty unless there is a solution.
        bound: No order has a smaller peak.
        states: Signatures memoised.
        seconds: Wall time spent.
    """

    outcome: Outcome
    order: tuple[int, ...]
    bound: int
    states: int
    seconds: float


@dataclass(slots=True)
class _Partial:
    """A partial schedule: its last node, the one before, and what it leaves."""

    peak: int
    live: int
    done: int
    bit: int
    before: _Partial | None


def dynamic_programming(
    side: Side, budget: Budget, *, soft_budget: float = inf, step_time_limit: float = inf
) -> DpResult:
    """An order of least peak among those whose peak is within the soft budget.

    A state takes up to 330 bytes of memory in graphs of 100 nodes (measured: peak resident set), and
    lives until nothing in the present step descends from it. All are charged to `budget`, which
    bounds them.

    Args:
        side: The problem, in the direction in which it is to be ordered.
        budget: What may be spent.
        soft_budget: Bytes; partial schedules with a higher peak are pruned.
        step_time_limit: Seconds that one step may take, T of Algorithm 2.
    """
    start = perf_counter()
    if not side.prepare(budget):
        return DpResult(Outcome.TIMEOUT, (), 0, 0, perf_counter() - start)
    step: dict[int, _Partial] = {side.ready: _Partial(0, side.live, 0, 0, None)}
    pruned, bound, states = inf, 0, 1
    budget.charge(1)
    outcome = Outcome.SOLUTION
    for _ in side.problem.nodes:
        following: dict[int, _Partial] = {}
        deadline = perf_counter() + step_time_limit
        for signature, partial in step.items():
            if budget.spent or perf_counter() > deadline:
                outcome = Outcome.TIMEOUT
                break
            known = len(following)
            cut_off = _extend(side, signature, partial, following, known + budget.states, soft_budget)
            budget.charge(len(following) - known)
            states += len(following) - known
            if cut_off is None:
                outcome = Outcome.TIMEOUT
                break
            pruned = min(pruned, cut_off)
        if outcome is Outcome.TIMEOUT:
            break
        step = following
        # Every order passes through each step, or was pruned before it.
        bound = int(min(pruned, min((partial.peak for partial in step.values()), default=inf)))
        if not step:
            outcome = Outcome.NO_SOLUTION
            break
    order = _order(step[0]) if outcome is Outcome.SOLUTION else ()
    return DpResult(outcome, order, bound, states, perf_counter() - start)


def _extend(  # noqa: PLR0913, PLR0917
    side: Side,
    signature: int,
    partial: _Partial,
    following: dict[int, _Partial],
    room: int,
    soft_budget: float,
) -> float | None:
    """Runs each ready node after `partial`.

    Returns:
        The least peak that was pruned; None if `following` would hold more than `room` signatures.
    """
    pruned, rest = inf, signature
    while rest:
        low = rest & -rest
        rest ^= low
        depends_on, effects = side.table[low]
        hill, net, new = effects[partial.done & depends_on]
        peak = max(partial.peak, partial.live + hill)
        if peak > soft_budget:
            pruned = min(pruned, peak)
            continue
        memo = following.get(signature ^ low | new)
        if memo is None and len(following) >= room:
            return None
        if memo is None or peak < memo.peak:
            following[signature ^ low | new] = _Partial(
                peak, partial.live + net, partial.done | low, low, partial
            )
    return pruned


def _order(final: _Partial) -> tuple[int, ...]:
    nodes: list[int] = []
    partial = final
    while partial.before is not None:
        nodes.append(partial.bit.bit_length() - 1)
        partial = partial.before
    return tuple(reversed(nodes))
