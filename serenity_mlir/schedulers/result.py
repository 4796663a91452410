"""What every scheduler returns: an order and the certificate that travels with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from serenity_mlir.errors import CheckFailed
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.presented import Presented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from serenity_mlir.views.rows import Table


@dataclass(frozen=True, slots=True)
class Schedule(Presented):
    """An order of a memory graph's ops with its proof status.

    Attributes:
        order: Op indices in the order in which they run; always legal.
        peak: The most bytes live at once in that order.
        lower_bound: No legal order has a smaller peak than this.
        method: Which algorithm found it.
        states: Search states expanded, 0 where none were needed.
        seconds: Wall time spent.
        segments: Parts that the graph was cut into at cut nodes, at least 1 unless empty.
    """

    order: tuple[int, ...]
    peak: int
    lower_bound: int
    method: str
    states: int = 0
    seconds: float = 0.0
    segments: int = 1

    @property
    def optimal(self) -> bool:
        """Whether the peak is proven minimal."""
        return self.peak == self.lower_bound

    @property
    def gap(self) -> float:
        """How far the peak may be above the optimum, as a share of the peak: 0.0 where proven."""
        return (self.peak - self.lower_bound) / self.peak if self.peak else 0.0

    def checked(self, graph: MemoryGraph, said: int) -> Schedule:
        """This schedule, if it is one of `graph` with the peak that the search kept account of.

        Raises:
            CheckFailed: It is not, or its peak is below its own bound.
        """
        if not graph.is_legal(self.order):
            raise CheckFailed("the order of the schedule breaks a dependence")
        if self.peak != said or self.peak < self.lower_bound:
            raise CheckFailed(f"schedule of peak {self.peak}, not {said}, with bound {self.lower_bound}")
        return self

    def to_json(self) -> bytes:
        """Order and certificate as indented JSON, with `optimal`; sizes in bytes."""
        fields = msgspec.to_builtins(self) | {"optimal": self.optimal}
        return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"

    def shown_tables(self) -> Sequence[Table]:
        """See `Presented`."""
        from serenity_mlir.views.proof_rows import schedule_table  # noqa: PLC0415  (only where it is shown)

        return [schedule_table(self)]
