"""Time and states that a search may spend."""

from __future__ import annotations

from time import perf_counter


class Budget:
    """Wall time and search states that are left.

    Attributes:
        deadline: When the time is over, on the clock of `time.perf_counter`.
        states: Search states that are left.
    """

    def __init__(self, deadline: float, states: int, parent: Budget | None = None) -> None:
        self.deadline = deadline
        self.states = states
        self._parent = parent

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.states <= 0 or perf_counter() >= self.deadline

    def charge(self, states: int) -> None:
        """Takes away states that were expanded, here and from what this is a part of."""
        budget: Budget | None = self
        while budget is not None:
            budget.states -= states
            budget = budget._parent

    def part(self, share: float = 1.0, states: int | None = None) -> Budget:
        """A share of the time and the states that are left now, and no more than `states`."""
        now = perf_counter()
        most = int(self.states * share)
        deadline = now + max(0.0, self.deadline - now) * share
        return Budget(deadline, most if states is None else min(most, states), self)
