"""What every arena planner returns: offsets and the certificate that travels with them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """Offsets of slices in one arena.

    Attributes:
        offsets: Bytes from the arena's start, one a slice, multiples of the alignment.
        size: Bytes of the arena.
        lower_bound: No plan of these slices is smaller than this.
        method: Which algorithm found it.
        nodes: Search nodes visited, 0 where none were needed.
        seconds: Wall time spent.
    """

    offsets: tuple[int, ...]
    size: int
    lower_bound: int
    method: str
    nodes: int = 0
    seconds: float = 0.0

    @property
    def optimal(self) -> bool:
        """Whether the size is proven minimal."""
        return self.size == self.lower_bound
