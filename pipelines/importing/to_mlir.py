"""The torch-onnx module of a prepared ONNX model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from iree.compiler.extras import onnx_importer  # type: ignore[import-untyped]  # ships no types

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops
from serenity_mlir.errors import SerenityError

if TYPE_CHECKING:
    from .source import SourceModel


def import_onnx(model: SourceModel, context: ir.Context) -> ir.Operation:
    """Builds the torch-onnx module of an ONNX model in a context.

    Every operator carries a name location with the name of its ONNX node, and weights are handed over as
    buffers. The entry function has the name of the graph, as `iree-import-onnx` does it.

    Args:
        model: A model of format "onnx".
        context: Where the module is built; all available dialects must be loaded in it.

    Returns:
        The verified `builtin.module`.

    Raises:
        SerenityError: IREE's importer does not take a node; the error names it.
        ValueError: The model is not ONNX.
    """
    if model.proto is None:
        raise ValueError(f"{model.path} is {model.format}, not ONNX")
    file = str(model.path)
    info = onnx_importer.ModelInfo(model.proto)
    module = info.create_module(context=context).operation
    try:
        importer = onnx_importer.NodeImporter.define_function(info.main_graph, module)
        with warnings.catch_warnings():
            # It warns of every optional output that is left out.
            warnings.filterwarnings("ignore", message="Found a node without a valid type proto")
            importer.import_all()
        _place_ops(module)
        module.verify()
    except (onnx_importer.OnnxImportError, ir.MLIRError) as error:
        raise SerenityError(f"IREE's importer does not take the model: {error}", file=file) from error
    return module


def _place_ops(module: ir.Operation) -> None:
    """Gives each op a place as well as a name: the name of its node, and as line its number.

    IREE hashes the address of a location without a place into the compiled file, which then never is the same
    twice; profilers and debuggers show places, not names.
    """
    for line, op in enumerate(nested_ops(module), start=1):
        if isinstance(op.location, ir.NameLoc):
            name = op.location.name_str
            with module.context:
                op.location = ir.Location.name(name, ir.Location.file(name, line, 1))
