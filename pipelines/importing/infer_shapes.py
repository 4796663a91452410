"""Types and shapes of every value, without which IREE's importer guesses wrong."""

from __future__ import annotations

import onnx
from onnx import shape_inference


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the model with a type and, as far as it can be known, a shape for every value.

    What follows from the inputs outweighs what the file says about inner values: people change the batch size
    at the inputs and leave the rest as it was. What does not follow is taken from the file.

    Args:
        model: With large weights held, in topological order.

    Raises:
        onnx.shape_inference.InferenceError: An operator's operands do not fit together in a way that cannot
            be left to be found later.
    """
    stored = {value.name: value for value in model.graph.value_info}
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    inferred = shape_inference.infer_shapes(bare, data_prop=True)
    known = {value.name for value in inferred.graph.value_info}
    missing = {
        name
        for node in model.graph.node
        for name in node.output
        if name and name in stored and name not in known
    }
    if not missing:
        return inferred
    bare.graph.value_info.extend(stored[name] for name in sorted(missing))
    return shape_inference.infer_shapes(bare, data_prop=True)
