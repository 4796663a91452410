"""The execution regions of a module: every `stream.async.execute` of its functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import ir

_FUNCTIONS = ("util.func", "func.func", "util.initializer")


@dataclass(frozen=True, slots=True)
class Region:
    """One execution region.

    Attributes:
        name: The function's symbol and the region's ordinal in it: `main#0`.
        role: "model", or "initializer" for what runs once when the module is loaded.
        op: The `stream.async.execute` or `stream.cmd.execute`.
    """

    name: str
    role: str
    op: ir.Operation


def functions(module: ir.Operation) -> Iterator[tuple[str, ir.Operation]]:
    """The functions and initializers of a module, with the name of each."""
    initializers = 0
    for op in module.regions[0].blocks[0]:
        operation = op.operation
        if operation.name == "util.initializer":
            yield f"initializer{initializers}", operation
            initializers += 1
        elif operation.name in _FUNCTIONS:
            yield ir.StringAttr(operation.attributes["sym_name"]).value, operation


def regions(module: ir.Operation, kind: str = "stream.async.execute") -> list[Region]:
    """The execution regions of `kind` in program order, wherever they nest."""
    found: list[Region] = []
    for name, function in functions(module):
        role = "initializer" if function.name == "util.initializer" else "model"
        ops: list[ir.Operation] = []

        def collect(op: ir.Operation, ops: list[ir.Operation] = ops) -> ir.WalkResult:
            if op.operation.name != kind:
                return ir.WalkResult.ADVANCE
            ops.append(op.operation)
            return ir.WalkResult.SKIP

        function.walk(collect, ir.WalkOrder.PRE_ORDER)
        found.extend(Region(f"{name}#{index}", role, op) for index, op in enumerate(ops))
    return found
