"""The steps that make an ONNX model acceptable to IREE, in the order in which they need each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import checker

from serenity_mlir.errors import SerenityError

from .clean_graph import free_negative_sizes, name_graph, name_nodes, separate_initializers, spell_domains
from .expand_variadic import expand_variadic
from .explicit_pools import explicit_pools
from .held_weights import HOLD_FROM_BYTES, hold_weights, return_weights, without_held
from .infer_shapes import infer_shapes
from .inline_functions import inline_functions
from .order_nodes import order_nodes
from .refuse import refuse_graphs, refuse_operators, refuse_values
from .upgrade_opset import upgrade_opset

if TYPE_CHECKING:
    from pathlib import Path

    from .source import ImportNote


def prepare_onnx(
    model: onnx.ModelProto, folder: Path, hold_from: int = HOLD_FROM_BYTES
) -> tuple[onnx.ModelProto, list[ImportNote]]:
    """Makes an ONNX model acceptable: same inputs, same outputs, same results.

    Args:
        model: As parsed, external data not loaded. It is consumed.
        folder: Where external data is looked for.
        hold_from: Weights of so many bytes or more are kept from ONNX's own tools.

    Returns:
        The model with all weights inline, and what could not be done as wanted.

    Raises:
        SerenityError: The model is damaged, or cannot be compiled; says which node and why.
    """
    refuse_graphs(model)
    spell_domains(model)
    name_graph(model)
    free_negative_sizes(model)
    name_nodes(model)
    held = hold_weights(model, folder, hold_from)
    order_nodes(model)
    model = inline_functions(model)
    name_nodes(model)
    separate_initializers(model)
    refuse_operators(model)
    _check(model)
    model, notes = upgrade_opset(model)
    name_nodes(model)
    explicit_pools(model)
    model = infer_shapes(model)
    refuse_values(model)
    if expand_variadic(model):
        model = infer_shapes(model)
    return_weights(model, held)
    return model, notes


def _check(model: onnx.ModelProto) -> None:
    """Runs ONNX's checker, whose rules the native tools after it take for granted."""
    checked = without_held(model)
    for output in checked.graph.output:
        if output.type.WhichOneof("value") == "tensor_type":
            # The checker insists on a declared shape; inference finds it later, or refuse_values complains.
            output.type.tensor_type.shape.SetInParent()
    try:
        checker.check_model(checked)
    except (checker.ValidationError, ValueError, RuntimeError) as error:
        raise SerenityError(
            f"the model is not valid ONNX: {' '.join(str(error).split())}", hint="export the model again"
        ) from error
