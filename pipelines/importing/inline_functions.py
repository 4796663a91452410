"""Model-local functions, inlined: neither the version converter nor IREE's importer knows them."""

from __future__ import annotations

import onnx
from onnx import checker, inliner, shape_inference, version_converter

from serenity_mlir.errors import SerenityError


def inline_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the model with every call of a model-local function replaced by the function's body.

    A function may be written for another opset than the model; its body is converted then, for which the
    types at the calls are needed: hence the shape inference.

    Args:
        model: With large weights held, in topological order.

    Raises:
        SerenityError: A function is recursive, or cannot be converted to the model's opset.
    """
    if not model.functions:
        return model
    try:
        typed = shape_inference.infer_shapes(model, data_prop=True)
        inlined = inliner.inline_local_functions(typed, convert_version=True)
    except (
        RuntimeError,
        ValueError,
        checker.ValidationError,
        shape_inference.InferenceError,
        version_converter.ConvertError,
    ) as error:
        raise SerenityError(
            f"a model-local function cannot be inlined: {' '.join(str(error).split())}",
            where=", ".join(f"function '{function.domain}::{function.name}'" for function in model.functions),
            hint="export the model with its functions inlined (for torch: optimize=True)",
        ) from error
    called = {(function.domain, function.name) for function in inlined.functions}
    del inlined.functions[:]
    for node in inlined.graph.node:
        if (node.domain, node.op_type) in called:
            raise SerenityError(
                "the call of a model-local function cannot be inlined", where=f"node '{node.name}'"
            )
    return inlined
