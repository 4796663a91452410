"""Unsigned results, handed back unsigned.

Inside IREE integers have no sign, so the buffer view of a uint8 result is made as int8. The op that makes it
takes another type as its description, of the same bytes: with that, every user of the runtime gets uint8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import CheckFailed
from serenity_mlir.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .source import TensorIO

_EXPORT = "hal.tensor.export"


def declare_unsigned_results(module: ir.Operation, name: str, outputs: Sequence[TensorIO]) -> None:
    """Describes the unsigned results of an ONNX model's entry function as what the model declares.

    No code changes: only the element type in the buffer views that the function returns.

    Args:
        module: Past phase `input` or `abi`; changed in place.
        name: The entry function, called like the graph. Its body is in `name$async`.
        outputs: What the model declares, in the order of results.

    Raises:
        CheckFailed: The function does not return what the model declares.
    """
    if not any(output.unsigned for output in outputs):
        return
    returned = _returned(module, f"{name}$async")
    if len(returned) != len(outputs):
        raise CheckFailed(
            f"'{name}$async' returns {counted(len(returned), 'result')}, the model declares {len(outputs)}"
        )
    with module.context, ir.Location.unknown():
        for value, output in zip(returned, outputs, strict=True):
            # What is returned as it came in is the caller's own buffer view, and described right already.
            if output.unsigned and not isinstance(value.owner, ir.Block):
                _describe_unsigned(value.owner.operation)


def _describe_unsigned(export: ir.Operation) -> None:
    if export.name != _EXPORT:
        return
    described = ir.RankedTensorType(ir.TypeAttr(export.attributes["source_encoding"]).value)
    width = ir.IntegerType(described.element_type).width
    unsigned = ir.RankedTensorType.get(described.shape, ir.IntegerType.get_unsigned(width))
    export.attributes["source_encoding"] = ir.TypeAttr.get(unsigned)


def _returned(module: ir.Operation, name: str) -> list[ir.Value]:
    """Returns the values that a function returns, none if there is no such function."""
    for function in module.regions[0].blocks[0]:
        if function.operation.name != "util.func":
            continue
        if ir.StringAttr(function.operation.attributes["sym_name"]).value == name:
            operations = function.operation.regions[0].blocks[0].operations
            return list(operations[len(operations) - 1].operands)
    return []
