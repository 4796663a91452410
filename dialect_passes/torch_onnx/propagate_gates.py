"""`serenity-propagate-gates`: which channels belong together, written on the ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.torch_onnx.network import Function, functions
from serenity_mlir.reform.groups import ChannelGroup, channel_groups
from serenity_mlir.sizes import counted

GROUPS = "serenity.groups"
SIZE = "serenity.channels"


@dataclass(frozen=True)
class PropagateGatesPass(Pass[tuple[tuple[ChannelGroup, ...], ...]]):
    """Marks every op with the groups of channels that its results hold.

    `serenity.groups` lists the numbers of the groups, those of weights included; `serenity.channels` on a
    convolution or product is how many channels its group can lose one by one. A group that has to stay is not
    marked: a remark on what makes it says which op keeps it and why.
    """

    name: ClassVar[str] = "serenity-propagate-gates"

    def apply(self, module: ir.Operation) -> tuple[tuple[ChannelGroup, ...], ...]:
        """Mark the functions of `module`; returns the groups of each."""
        return tuple(self._mark(function) for function in functions(module))

    def _mark(self, function: Function) -> tuple[ChannelGroup, ...]:
        groups = channel_groups(function.network)
        held: dict[str, list[int]] = {}
        with function.op.context:
            for group in groups:
                if not group.prunable:
                    self._say_why(function, group)
                    continue
                for member in group.members:
                    held.setdefault(member.tensor, []).append(group.id)
                for source in group.sources:
                    size = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), group.size)
                    _maker(function, source).attributes[SIZE] = size
            for name, numbers in held.items():
                owner = _maker(function, name)
                old = (
                    list(ir.DenseI64ArrayAttr(owner.attributes[GROUPS])) if GROUPS in owner.attributes else []
                )
                owner.attributes[GROUPS] = ir.DenseI64ArrayAttr.get(sorted({*old, *numbers}))
        return groups

    def _say_why(self, function: Function, group: ChannelGroup) -> None:
        for source in group.sources:
            remark(
                _maker(function, source),
                f"{self.name}: {counted(group.size, 'channel')} of '{source}' kept: "
                f"{'; '.join(group.barriers)}",
            )


def _maker(function: Function, tensor: str) -> ir.Operation:
    return function.values[tensor].owner.operation
