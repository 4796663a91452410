"""Types and shapes of every value, without which IREE's importer guesses wrong."""

from __future__ import annotations

import onnx
from onnx import checker, shape_inference

from serenity_mlir.errors import SerenityError


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the model with a type and, as far as it can be known, a shape for every value.

    What follows from the inputs outweighs what the file says about inner values: people change the batch size
    at the inputs and leave the rest as it was. What does not follow is taken from the file.

    Args:
        model: With large weights held, in topological order.

    Raises:
        SerenityError: Operands do not fit together.
    """
    stored = {value.name: value for value in model.graph.value_info}
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    inferred = _infer(bare)
    known = {value.name for value in inferred.graph.value_info}
    made = {name for node in model.graph.node for name in node.output if name}
    missing = sorted(made & stored.keys() - known)
    if not missing:
        return inferred
    bare.graph.value_info.extend(stored[name] for name in missing)
    return _infer(bare)


def why_not_inferred(model: onnx.ModelProto) -> str | None:
    """Returns what is wrong with the first node whose results cannot be inferred, if that is known."""
    try:
        shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except (shape_inference.InferenceError, checker.ValidationError, RuntimeError, ValueError) as error:
        return " ".join(str(error).split())
    return None


def _infer(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return shape_inference.infer_shapes(model, data_prop=True)
    except (shape_inference.InferenceError, checker.ValidationError, RuntimeError, ValueError) as error:
        raise SerenityError(
            f"the shapes of the model do not fit together: {' '.join(str(error).split())}",
            hint="correct the shapes that the model declares, or export it again",
        ) from error
