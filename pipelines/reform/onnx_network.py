"""ONNX models as networks that channel rules understand, and networks back into models."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.clean_graph import opset_of
from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.tensor_bytes import dtype_name
from serenity_mlir.pipelines.importing.walk import subgraphs
from serenity_mlir.pipelines.reform.fold_shapes import fold_shapes
from serenity_mlir.reform.gates import masked_network
from serenity_mlir.reform.network import OLDEST_OPSET, Network, Node, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from serenity_mlir.reform.gates import Gates
    from serenity_mlir.reform.network import Array, Attribute
    from serenity_mlir.reform.removal import Surgery

_CONSTANT = "Constant"


def load(path: Path) -> tuple[onnx.ModelProto, Network]:
    """Reads an ONNX model as `serenity compile` does: opset upgraded, shapes inferred, weights in memory.

    Arithmetic on shapes is folded, which channel rules could not look through.

    Raises:
        SerenityError: The file is no ONNX model, or one that cannot be compiled.
    """
    source = load_model(path)
    if source.proto is None:
        raise SerenityError(
            "channels are ranked and pruned in ONNX models, and this is MLIR",
            file=str(path),
            hint=_passes(path),
        )
    opset = opset_of(source.proto)
    if opset < OLDEST_OPSET:
        raise SerenityError(
            f"the model is written in opset {opset} and cannot be converted to a newer one: before"
            f" {OLDEST_OPSET} operators say their sizes otherwise",
            file=str(path),
            hint="export the model again, with a newer opset",
        )
    model = fold_shapes(source.proto)
    return model, network_of(model)


def _passes(path: Path) -> str:
    """Command lines for torch-onnx MLIR."""
    given, made = (shlex.quote(str(name)) for name in (path, path.with_suffix(".pruned.mlir")))
    return (
        "export the model to ONNX; or, if it is torch-onnx IR, say in gates.json which channels go, "
        '{"NODE": [0, 1]}, and run\n'
        f"    serenity-opt {given} --serenity-prune-channels=gates=gates.json -o {made}\n"
        "  what can leave, by `serenity.channels` of each node:\n"
        f"    serenity-opt {given} --serenity-propagate-gates"
    )


def network_of(model: onnx.ModelProto) -> Network:
    """The network of a prepared model: every node named, in topological order, shapes inferred."""
    graph = model.graph
    tensors: dict[str, Tensor] = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensors[value.name] = _tensor(value)
    for initializer in graph.initializer:
        tensors[initializer.name] = Tensor.constant(initializer.name, numpy_helper.to_array(initializer))
    nodes = []
    for proto in graph.node:
        held = _held_value(proto)
        if held is not None:
            tensors[proto.output[0]] = Tensor.constant(proto.output[0], held)
            continue
        node = _node(proto)
        nodes.append(node)
        for name in (*node.inputs, *node.outputs):
            if name and name not in tensors:
                tensors[name] = Tensor(name, (), "undefined", ranked=False)
    return Network(
        tuple(nodes),
        tensors,
        tuple(value.name for value in graph.input),
        tuple(value.name for value in graph.output),
    )


def apply(model: onnx.ModelProto, surgery: Surgery) -> onnx.ModelProto:
    """The model with channels removed as planned on its network; the model given stays as it is."""
    return rebuilt(model, surgery.after)


def masked(model: onnx.ModelProto, gates: Gates) -> onnx.ModelProto:
    """The model with gated channels multiplied by 0 in the open: what every pruned variant must equal.

    Raises:
        SerenityError: A gate does not fit the model.
    """
    return rebuilt(model, masked_network(network_of(model), gates))


def rebuilt(model: onnx.ModelProto, network: Network) -> onnx.ModelProto:
    """The model made to hold what `network` says, a network that was derived from this model's.

    Nodes that the network has not changed are taken over as they are, with all that they hold.
    """
    protos = {proto.name: proto for proto in model.graph.node}
    before = network_of(model).by_name
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    read = {name for node in network.nodes for name in node.inputs}.union(network.outputs)
    for name, tensor in network.tensors.items():
        if name in read and tensor.value is not None:
            graph.initializer.append(numpy_helper.from_array(np.asarray(tensor.value, order="C"), name))
    for node in network.nodes:
        graph.node.append(_proto(node, before.get(node.name), protos.get(node.name)))
    return infer_shapes(result)


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    if not value.type.HasField("tensor_type"):
        return Tensor(value.name, (), "undefined", ranked=False)
    tensor = value.type.tensor_type
    dims = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)
    return Tensor(value.name, dims, dtype_name(tensor.elem_type), ranked=tensor.HasField("shape"))


def _held_value(proto: onnx.NodeProto) -> Array | None:
    """What a node that only holds a numeric constant holds; None for any other node."""
    if proto.op_type != _CONSTANT or proto.domain:
        return None
    (attribute,) = proto.attribute
    if attribute.name == "value":
        return (
            None if attribute.t.data_type == onnx.TensorProto.STRING else numpy_helper.to_array(attribute.t)
        )
    if attribute.name in ("value_float", "value_floats"):
        return np.array(helper.get_attribute_value(attribute), np.float32)
    if attribute.name in ("value_int", "value_ints"):
        return np.array(helper.get_attribute_value(attribute), np.int64)
    return None


def _node(proto: onnx.NodeProto) -> Node:
    attributes: dict[str, Attribute] = {}
    for attribute in proto.attribute:
        if attribute.type not in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
            attributes[attribute.name] = _attribute(attribute)
    own = tuple(proto.input)
    captured = dict.fromkeys(name for graph in subgraphs(proto) for name in _captured(graph))
    op = f"{proto.domain}::{proto.op_type}" if proto.domain else proto.op_type
    return Node(proto.name, op, (*own, *captured), tuple(proto.output), attributes, len(own))


def _attribute(attribute: onnx.AttributeProto) -> Attribute:
    value: Any = helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, int | float):
        return value
    if isinstance(value, onnx.SparseTensorProto | onnx.TypeProto):
        return str(value.SerializeToString().hex())  # never edited: only nodes without a rule have them
    return tuple(item.decode() if isinstance(item, bytes) else item for item in value)


def _captured(graph: onnx.GraphProto) -> Iterator[str]:
    """Names that a subgraph reads and does not make itself."""
    made = {value.name for value in graph.input} | {item.name for item in graph.initializer}
    for proto in graph.node:
        inner = [name for nested in subgraphs(proto) for name in _captured(nested)]
        yield from (name for name in (*proto.input, *inner) if name and name not in made)
        made.update(proto.output)
    yield from (value.name for value in graph.output if value.name not in made)


def _proto(node: Node, before: Node | None, proto: onnx.NodeProto | None) -> onnx.NodeProto:
    result = onnx.NodeProto(name=node.name, op_type=node.op)
    if proto is not None:
        result.CopyFrom(proto)
    result.input[:] = node.inputs[: node.own_inputs]
    result.output[:] = node.outputs
    if before is None or node.attributes is not before.attributes:
        replaced = () if before is None else before.attributes
        for attribute in [item for item in result.attribute if item.name in replaced]:
            result.attribute.remove(attribute)
        for name, value in node.attributes.items():
            held = numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
            result.attribute.append(helper.make_attribute(name, held))
    return result
