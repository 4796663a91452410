"""Bytes that are no part of the slab: inputs, outputs, constants."""

from __future__ import annotations

from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.access import constant_index
from serenity_mlir.dialect_passes.stream.regions import functions


@dataclass(frozen=True, slots=True)
class IoSizes:
    """Of the function that takes and returns the most; None where a size is no constant."""

    inputs: int | None
    outputs: int | None
    weights: int


def io_sizes(module: ir.Operation) -> IoSizes:
    """Read the sizes off a module after `iree-stream-async-transformation-pipeline`."""
    weights = 0
    pairs: list[tuple[int | None, int | None]] = []
    for _, function in functions(module):
        inputs: list[int | None] = []
        outputs: list[int | None] = []

        def collect(
            op: ir.Operation, inputs: list[int | None] = inputs, outputs: list[int | None] = outputs
        ) -> ir.WalkResult:
            nonlocal weights
            operation = op.operation
            if operation.name == "stream.tensor.import":
                inputs.append(constant_index(operation.operands[-1]))
            elif operation.name == "stream.tensor.export":
                outputs.append(constant_index(operation.operands[-1]))
            elif operation.name == "stream.async.constant":
                weights += constant_index(operation.operands[0]) or 0
            return ir.WalkResult.ADVANCE

        function.walk(collect)
        pairs.append((_sum(inputs), _sum(outputs)))
    largest = max(pairs, key=lambda pair: (None in pair, (pair[0] or 0) + (pair[1] or 0)), default=(0, 0))
    return IoSizes(*largest, weights)


def _sum(sizes: list[int | None]) -> int | None:
    return None if None in sizes else sum(size for size in sizes if size is not None)
