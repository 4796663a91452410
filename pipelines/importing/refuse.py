"""What cannot be compiled, found before the compiler runs, with the node's name and a way out."""

from __future__ import annotations

from math import prod

import onnx
from iree.compiler.extras.onnx_importer import (  # type: ignore[import-untyped]  # ships no types
    ELEM_TYPE_TO_IR_TYPE_CB,
)
from onnx import AttributeProto, defs

from serenity_mlir.errors import SerenityError

from .clean_graph import STANDARD_DOMAIN, opset_of
from .infer_shapes import why_not_inferred
from .tensor_bytes import DAMAGED, dtype_name, packed_bits
from .walk import all_graphs, all_nodes, describe

_RUNTIME_DOMAIN = "com.microsoft"
_RUNTIME_OPS = frozenset({"GroupQueryAttention", "RotaryEmbedding"})
"""Operators of onnxruntime's own domain that IREE legalises."""

_NOT_CONVERTED = frozenset(
    {
        "AffineGrid",
        "CumProd",
        "Optional",
        "RegexFullMatch",
        "StringConcat",
        "StringNormalizer",
        "StringSplit",
        "TensorScatter",
        "TfIdfVectorizer",
        "Unique",
    }
)
"""Operators that IREE 3.13 does not know, has no types for, or crashes on (Unique)."""

_POSITIVE = frozenset({"blocksize", "dilations", "group", "kernel_shape", "num_groups", "strides"})
"""Attributes of which IREE takes any value, and divides by it."""

_MOST_BITS = 8 * (2**63 - 1)
"""IREE counts bytes in 64 bits with a sign, and does not notice where they do not suffice."""

_DOMAIN_HINTS = {
    _RUNTIME_DOMAIN: "it is onnxruntime's own operator: save the model without onnxruntime's optimisations"
    " (ORT_DISABLE_ALL), or export it again from the framework",
    "ai.onnx.ml": "keep classical machine learning (trees, encoders, scalers) outside of the model",
    "ai.onnx.training": "export the model for inference",
    "ai.onnx.preview.training": "export the model for inference",
}
_OTHER_DOMAIN_HINT = "write it with standard operators, or define it as a model-local function of such"


def refuse_operators(model: onnx.ModelProto) -> None:
    """Refuses operators that neither ONNX nor IREE has, and values that are no tensors.

    Args:
        model: With functions inlined and domains spelled.

    Raises:
        SerenityError: Naming the first such node.
    """
    version = opset_of(model)
    if not 1 <= version <= defs.onnx_opset_version():
        raise SerenityError(
            f"the model is written in opset {version}, and opsets 1 to {defs.onnx_opset_version()} are known",
            hint="export it with an older opset, or install a newer onnx",
        )
    for node in all_nodes(model):
        if node.domain == STANDARD_DOMAIN:
            if not defs.has(node.op_type, max_inclusive_version=version):
                raise SerenityError(
                    f"ONNX has no operator '{node.op_type}' in opset {version}",
                    where=describe(node),
                    hint="set the opset version that the model is written in, or " + _OTHER_DOMAIN_HINT,
                )
        elif node.domain != _RUNTIME_DOMAIN or node.op_type not in _RUNTIME_OPS:
            raise SerenityError(
                f"the operator '{node.op_type}' of domain '{node.domain}' cannot be compiled",
                where=describe(node),
                hint=_DOMAIN_HINTS.get(node.domain, _OTHER_DOMAIN_HINT),
            )
        _refuse_usage(node)
        _refuse_attributes(node)


def refuse_graphs(model: onnx.ModelProto) -> None:
    """Refuses a file that parses but holds no graph that could be compiled, and sparse weights.

    Raises:
        SerenityError: Naming what is missing or not supported.
    """
    if not model.HasField("graph") or not model.graph.output:
        raise SerenityError("the file holds no ONNX graph with an output", hint=DAMAGED)
    for graph in all_graphs(model):
        if graph.sparse_initializer:
            raise SerenityError(
                "sparse weights cannot be compiled",
                where=f"initializer '{graph.sparse_initializer[0].values.name}'",
                hint="store them as dense tensors",
            )
        names = [tensor.name for tensor in graph.initializer]
        if len(set(names)) < len(names) or "" in names:
            raise SerenityError(
                "two weights have one name, or one has none", where=f"graph '{graph.name}'", hint=DAMAGED
            )


def refuse_values(model: onnx.ModelProto) -> None:
    """Refuses values whose type is no tensor of numbers, or whose rank nobody knows.

    IREE's importer would take an unknown rank for rank 0.

    Args:
        model: After shape inference.

    Raises:
        SerenityError: Naming the first such value and the node that makes it.
    """
    main = model.graph
    read = {name for graph in all_graphs(model) for node in graph.node for name in node.input}
    for graph in all_graphs(model):
        makers = {name: node for node in graph.node for name in node.output if name}
        types = {value.name: value.type for value in (*graph.value_info, *graph.output)}
        # The results of a subgraph have the types of the results of the node that holds it.
        for value in (*graph.input, *(graph.output if graph is main else ())):
            where = describe(makers[value.name]) if value.name in makers else f"input '{value.name}'"
            _refuse_type(model, value.name, value.type, where)
        for name, node in makers.items():
            # Sequences are refused inside too: IREE resolves some, and takes the length of others for 1.
            if name in read:
                _refuse_type(model, name, types.get(name), describe(node))


def _refuse_type(model: onnx.ModelProto, name: str, kind: onnx.TypeProto | None, where: str) -> None:
    which = kind.WhichOneof("value") if kind is not None else None
    if kind is None or which is None:
        raise _unknown(model, "type", name, where)
    if which != "tensor_type":
        raise SerenityError(
            f"'{name}' is a {which.removesuffix('_type')}, and only tensors can be compiled",
            where=where,
            hint="unroll sequences and optionals into tensors before exporting",
        )
    element = dtype_name(kind.tensor_type.elem_type)
    if element in ("string", "undefined"):
        raise SerenityError(
            f"'{name}' has element type {element}, and only numbers and booleans can be compiled",
            where=where,
            hint="handle text outside of the model",
        )
    if kind.tensor_type.elem_type not in ELEM_TYPE_TO_IR_TYPE_CB:
        raise SerenityError(
            f"'{name}' has element type {element}, which IREE's importer does not have",
            where=where,
            hint="cast to another type before exporting",
        )
    if not kind.tensor_type.HasField("shape"):
        raise _unknown(model, "number of dimensions", name, where)
    sizes = [size.dim_value for size in kind.tensor_type.shape.dim if size.HasField("dim_value")]
    if prod(sizes) * packed_bits(kind.tensor_type.elem_type) > _MOST_BITS:
        raise SerenityError(
            f"'{name}' has more elements than can be counted: {' x '.join(map(str, sizes))}",
            where=where,
            hint=DAMAGED,
        )


def _unknown(model: onnx.ModelProto, what: str, name: str, where: str) -> SerenityError:
    reason = why_not_inferred(model)
    return SerenityError(
        f"the {what} of '{name}' cannot be inferred" + (f": {reason}" if reason else ""),
        where=where,
        hint="correct the operands, or declare the shape of this value in the model (symbolic sizes will do)",
    )


def _refuse_usage(node: onnx.NodeProto) -> None:
    """Refuses what IREE has no conversion for, or compiles into something else."""
    if node.domain == STANDARD_DOMAIN and node.op_type in _NOT_CONVERTED:
        raise SerenityError(
            f"IREE has no conversion of the operator '{node.op_type}'",
            where=describe(node),
            hint=_OTHER_DOMAIN_HINT,
        )
    if node.op_type == "MaxPool" and len(node.output) > 1 and node.output[1]:
        raise SerenityError(
            "MaxPool's indices cannot be compiled: IREE counts them in a channel, ONNX in the tensor",
            where=describe(node),
            hint="use the values only, or find the places with ArgMax",
        )


def _refuse_attributes(node: onnx.NodeProto) -> None:
    for attribute in node.attribute:
        values = list(attribute.ints) if attribute.type == AttributeProto.INTS else [attribute.i]
        if attribute.name in _POSITIVE and any(item < 1 for item in values):
            raise SerenityError(
                f"the attribute '{attribute.name}' must be positive, not {', '.join(map(str, values))}",
                where=describe(node),
                hint=DAMAGED,
            )
        kinds = (AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS, AttributeProto.TYPE_PROTO)
        if attribute.type in (*kinds, AttributeProto.TYPE_PROTOS, AttributeProto.GRAPHS):
            raise SerenityError(
                f"the attribute '{attribute.name}' has a type that cannot be compiled:"
                f" {AttributeProto.AttributeType.Name(attribute.type)}",
                where=describe(node),
                hint="export the model without optional, sequence and sparse values",
            )
