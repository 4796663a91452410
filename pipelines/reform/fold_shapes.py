"""Shape arithmetic that exporters write out, folded: channel rules read constants, not computations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.pipelines.importing.walk import subgraphs

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_SMALL = 64
"""Elements of a shape, or of what is computed of it; weights have more, and stay as they are."""

_ARITHMETIC = {
    "Add", "Cast", "Ceil", "Concat", "Div", "Equal", "Floor", "Gather", "Identity", "Max", "Min", "Mod",
    "Mul", "Neg", "Range", "ReduceProd", "Reshape", "Slice", "Squeeze", "Sub", "Unsqueeze", "Where",
}  # fmt: skip


def fold_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with what follows from known dimensions as constants, and shapes inferred from these.

    An open batch dimension is no obstacle to what is computed of the others.

    Args:
        model: Prepared, shapes inferred; stays as it is.
    """
    while folded := _foldable(model):
        result = onnx.ModelProto()
        result.CopyFrom(model)
        kept = [node for node in result.graph.node if node.output[0] not in folded]
        kept = _read(kept, {value.name for value in result.graph.output})
        del result.graph.node[:]
        result.graph.node.extend(kept)
        result.graph.initializer.extend(
            numpy_helper.from_array(value, name) for name, value in folded.items()
        )
        model = infer_shapes(result)
    return model


def _foldable(model: onnx.ModelProto) -> dict[str, Array]:
    """Results of shape arithmetic that are known, by name."""
    graph = model.graph
    shapes = _shapes(graph)
    known: dict[str, Array] = {
        item.name: numpy_helper.to_array(item)
        for item in graph.initializer
        if np.prod(item.dims, dtype=np.int64) <= _SMALL and item.data_type != TensorProto.STRING
    }
    partly: dict[str, Sequence[int | None]] = {}
    outputs = {value.name for value in graph.output}
    found: dict[str, Array] = {}
    for node in graph.node:
        if node.domain or len(node.output) != 1 or node.output[0] in outputs:
            continue
        name, value = node.output[0], None
        if node.op_type == "Constant":
            known.update(_held(node))
            continue
        if node.op_type == "Shape" and node.input[0] in shapes:
            partly[name] = _shape_of(node, shapes[node.input[0]])
            value = _complete(partly[name])
        elif node.op_type == "Gather" and node.input[0] in partly and node.input[1] in known:
            value = _picked(partly[node.input[0]], known[node.input[1]])
        elif node.op_type in _ARITHMETIC and all(item in known for item in node.input if item):
            value = _computed(model, node, known)
        if value is not None and value.size <= _SMALL:
            known[name] = found[name] = value
    return found


def _read(nodes: Sequence[onnx.NodeProto], outputs: set[str]) -> list[onnx.NodeProto]:
    """Nodes without the shape arithmetic that nobody reads any more."""
    kept: list[onnx.NodeProto] = []
    read = set(outputs)
    for node in reversed(nodes):
        if node.op_type in {"Shape", *_ARITHMETIC} and not node.domain and read.isdisjoint(node.output):
            continue
        read.update(_reads(node))
        kept.append(node)
    return kept[::-1]


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """What a node and its subgraphs read."""
    yield from node.input
    for graph in subgraphs(node):
        yield from (value.name for value in graph.output)
        for inner in graph.node:
            yield from _reads(inner)


def _shapes(graph: onnx.GraphProto) -> dict[str, list[int | None]]:
    found = {}
    for value in (*graph.input, *graph.value_info):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and tensor.HasField("shape"):
            dims = tensor.shape.dim
            found[value.name] = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
    return found


def _held(node: onnx.NodeProto) -> dict[str, Array]:
    """What a small Constant of numbers holds, by its name."""
    (attribute,) = node.attribute
    value = helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        small = np.prod(value.dims, dtype=np.int64) <= _SMALL and value.data_type != TensorProto.STRING
        return {node.output[0]: numpy_helper.to_array(value)} if small else {}
    if attribute.name in ("value_int", "value_ints"):
        return {node.output[0]: np.array(value, np.int64)}
    return {}


def _shape_of(node: onnx.NodeProto, dims: Sequence[int | None]) -> Sequence[int | None]:
    bounds = {attribute.name: attribute.i for attribute in node.attribute}
    return dims[bounds.get("start", 0) : bounds.get("end")]


def _complete(dims: Sequence[int | None]) -> Array | None:
    return None if None in dims else np.array(dims, np.int64)


def _picked(dims: Sequence[int | None], indices: Array) -> Array | None:
    chosen = [dims[int(index)] for index in indices.ravel()]
    return None if None in chosen else np.array(chosen, np.int64).reshape(indices.shape)


def _computed(model: onnx.ModelProto, node: onnx.NodeProto, known: Mapping[str, Array]) -> Array:
    """The node's result, by onnx's reference implementation."""
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415  (heavy)

    inputs = {name: known[name] for name in dict.fromkeys(node.input) if name}
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    graph = helper.make_graph([node], "one", declared, [onnx.ValueInfoProto(name=node.output[0])])
    alone = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    (value,) = ReferenceEvaluator(alone).run(None, inputs)
    return np.asarray(value)
