"""RAM and ROM of a variant, as compiled by everything that `serenity compile` does."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import CompileOptions, compile_model

if TYPE_CHECKING:
    import onnx

    from serenity_mlir.pipelines.compile import Compiled
    from serenity_mlir.report import Report


@dataclass(frozen=True, eq=False)
class CompiledVariant:
    """A variant and what it takes.

    Attributes:
        compiled: Its program and figures.
        ram: Bytes: slab, inputs and outputs, or the one arena.
        rom: Bytes of weights.
        fixed: Bytes of RAM that belong to the caller, which no pruning makes fewer.
    """

    compiled: Compiled
    ram: int
    rom: int
    fixed: int


def compile_variant(model: onnx.ModelProto, options: CompileOptions) -> CompiledVariant:
    """Compile a variant.

    Raises:
        SerenityError: It cannot be compiled, or its RAM has no constant size.
    """
    compiled = compiled_model(model, options)
    report = compiled.report
    if report is None:
        raise ValueError("a variant is compiled past phase 'stream'")
    if report.memory.ram is None:
        raise SerenityError(
            "RAM has no constant size, so no budget can hold it", hint="fix the sizes of the model's inputs"
        )
    return CompiledVariant(compiled, report.memory.ram, report.memory.weights, _fixed(report))


def compiled_model(model: onnx.ModelProto, options: CompileOptions) -> Compiled:
    """Compile a model that is no file."""
    with tempfile.TemporaryDirectory(prefix="serenity-") as folder:
        path = Path(folder) / "variant.onnx"
        path.write_bytes(model.SerializeToString())
        return compile_model(path, options)


def _fixed(report: Report) -> int:
    memory = report.memory
    return 0 if memory.io == "arena" else (memory.inputs or 0) + (memory.outputs or 0)
