"""What every arena planner returns: offsets and the certificate that travels with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from serenity_mlir.presented import Presented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from serenity_mlir.views.rows import Table


@dataclass(frozen=True, slots=True)
class ArenaPlan(Presented):
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

    def to_json(self) -> bytes:
        """Offsets and certificate as indented JSON, with `optimal`; sizes in bytes."""
        fields = msgspec.to_builtins(self) | {"optimal": self.optimal}
        return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"

    def shown_tables(self) -> Sequence[Table]:
        """See `Presented`."""
        from serenity_mlir.views.proof_rows import plan_table  # noqa: PLC0415  (only where it is shown)

        return [plan_table(self)]
