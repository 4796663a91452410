"""What an operator of the evaluator is: a function of a node's attributes and its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from serenity_mlir.errors import SerenityError


@dataclass(frozen=True, slots=True)
class Call:
    """One node as its operator sees it.

    Attributes:
        name: Of the node, for messages.
        op: Its ONNX operator.
        attributes: As ONNX spells them; one left out is absent.
        operands: In ONNX's order; one left out is None.
        results: How many results the node has.
    """

    name: str
    op: str
    attributes: Mapping[str, Any]
    operands: Sequence[torch.Tensor | None]
    results: int

    def operand(self, index: int) -> torch.Tensor:
        """An operand that must be there.

        Raises:
            SerenityError: It is left out.
        """
        found = self.optional(index)
        if found is None:
            raise self.refusal(f"has no operand {index}")
        return found

    def optional(self, index: int) -> torch.Tensor | None:
        """An operand that may be left out."""
        return self.operands[index] if index < len(self.operands) else None

    def ints(self, name: str, index: int | None = None) -> list[int] | None:
        """A list of integers that older operator sets have as attribute, newer ones as operand `index`."""
        operand = None if index is None else self.optional(index)
        if operand is not None:
            return [int(value) for value in operand.reshape(-1).tolist()]
        value = self.attributes.get(name)
        return None if value is None else [int(item) for item in value]

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        return int(self.attributes.get(name, default))

    def number(self, name: str, default: float) -> float:
        """A floating-point attribute."""
        return float(self.attributes.get(name, default))

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else str(value)

    def refusal(self, why: str) -> SerenityError:
        """The error that this node cannot be evaluated."""
        return SerenityError(
            f"{self.op} {why}",
            where=self.name,
            hint="without gradients it can be pruned: leave out --static",
        )


Result: TypeAlias = torch.Tensor | tuple[torch.Tensor, ...]
Operator: TypeAlias = Callable[[Call], Result]
