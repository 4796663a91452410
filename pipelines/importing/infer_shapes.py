"""Types and shapes of every value, without which IREE's importer guesses wrong."""

from __future__ import annotations

import onnx
from onnx import checker, shape_inference

from serenity_mlir.errors import SerenityError

from .tensor_bytes import dtype_name


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the model with a type and, as far as it can be known, a shape for every value.

    What follows from the inputs outweighs what the file says about other values: people change the batch size
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
    given = _types_given(model.graph)
    for output in bare.graph.output:
        output.ClearField("type")
        if output.name in given:  # an input or a weight: without a type here it would lose its own
            output.type.CopyFrom(given[output.name])
    inferred = _infer(bare)
    known = {value.name for value in inferred.graph.value_info}
    made = {name for node in model.graph.node for name in node.output if name}
    missing = sorted(made & stored.keys() - known)
    if missing:
        bare.graph.value_info.extend(stored[name] for name in missing)
        inferred = _infer(bare)
    for output, declared in zip(inferred.graph.output, model.graph.output, strict=True):
        if not output.HasField("type"):
            output.type.CopyFrom(declared.type)
        elif declared.type.HasField("tensor_type") and output.type.HasField("tensor_type"):
            _refuse_other_element(declared, output.type.tensor_type.elem_type)
            _complete(output.type.tensor_type, declared.type.tensor_type)
    return inferred


def _types_given(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    """Types of what a graph starts from: inputs and weights."""
    types = {
        tensor.name: onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
        for tensor in graph.initializer
    }
    return types | {value.name: value.type for value in graph.input}


def _refuse_other_element(declared: onnx.ValueInfoProto, found: int) -> None:
    """Refuses an output that is declared with another element type than it has: IREE crashes on some."""
    wanted = declared.type.tensor_type.elem_type
    if wanted not in (found, onnx.TensorProto.UNDEFINED):
        raise SerenityError(
            f"the output is declared as {dtype_name(wanted)}, but it is {dtype_name(found)}",
            where=f"output '{declared.name}'",
            hint="correct the declared type, or export the model again",
        )


def _complete(found: onnx.TypeProto.Tensor, declared: onnx.TypeProto.Tensor) -> None:
    """Takes from what is declared of an output what could not be found out.

    A number is not taken: where the inputs ask for another, compiled code would touch memory that it does not
    have.
    """
    if not found.HasField("shape"):
        if declared.HasField("shape"):
            found.shape.CopyFrom(declared.shape)
    elif len(found.shape.dim) == len(declared.shape.dim):
        for size, other in zip(found.shape.dim, declared.shape.dim, strict=True):
            if is_unknown(size) and not other.HasField("dim_value"):
                size.CopyFrom(other)


def is_unknown(size: onnx.TensorShapeProto.Dimension) -> bool:
    """Returns whether a size is neither a number nor a symbol that comes from the model."""
    # Shape inference gives every size that it does not know a name of this form.
    return not size.HasField("dim_value") and (not size.dim_param or size.dim_param.startswith("unk__"))


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
