"""Dispatches without what they compute: order and arena do not depend on it."""

from __future__ import annotations

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

_EXECUTABLE, _FUNCTION = "flow.executable", "func.func"


def forget_bodies(module: ir.Operation) -> None:
    """Empty the functions of all executables.

    What a dispatch reads, writes and ties is written on the dispatch itself. IREE's stream passes go over
    bodies all the same; what is left is good for measuring only.

    Args:
        module: At the end of IREE's phase `flow`.
    """
    executables = [item.operation for item in module.regions[0].blocks[0].operations]
    for executable in executables:
        if executable.name != _EXECUTABLE:
            continue
        for function in [op for op in nested_ops(executable) if op.name == _FUNCTION]:
            if len(function.regions[0].blocks) == 1:
                *body, _ = function.regions[0].blocks[0].operations
                for op in reversed(body):
                    op.operation.erase()
