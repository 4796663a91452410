"""A packing problem as a search reads it: slices numbered by preorder."""

from __future__ import annotations

from collections.abc import Sequence

from serenity_mlir.arena.problem import Problem, Sections


class Preordered:
    """A problem with its slices renumbered by preorder, so that numbers break ties."""

    def __init__(self, problem: Problem, sections: Sections, order: Sequence[int]) -> None:
        rank = [0] * len(order)
        for position, index in enumerate(order):
            rank[index] = position
        self.order = order
        self.sizes = [problem.sizes[index] for index in order]
        self.first = [sections.first[index] for index in order]
        self.last = [sections.last[index] for index in order]
        self.neighbours = [[rank[other] for other in problem.neighbours[index]] for index in order]
        self.live = [[rank[index] for index in members] for members in sections.live]
        self.totals = sections.totals
        self.crossings = sections.crossings
        self.twin = self._twins()

    def _twins(self) -> list[int]:
        """For each slice the next in preorder with the same size and sections, -1 for none."""
        twin = [-1] * len(self.order)
        latest: dict[tuple[int, int, int], int] = {}
        for index, key in enumerate(zip(self.first, self.last, self.sizes, strict=True)):
            if key in latest:
                twin[latest[key]] = index
            latest[key] = index
        return twin
