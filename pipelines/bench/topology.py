"""Networks as the SERENITY paper sees them: layers, and the bytes of what each one makes.

Nothing is in place unless a layer says so: each other has an output of its own. A network's
inputs are there from the start and count until their last use; its outputs count to the end. Weights
do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import onnx

from serenity_mlir.errors import SerenityError
from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.pipelines.importing.tensor_bytes import packed_bits


@dataclass(frozen=True, slots=True)
class Layer:
    """One op of a network.

    Attributes:
        name: Unlike that of any other layer or input.
        kind: The operator, as ONNX names it but for what `layer_kind` tells apart.
        inputs: Names of the tensors that it reads.
        size: Bytes of the tensor that it makes.
        into: The tensor that it adds its result to, in place, as do all others that name it. They run in
            any order, but that one which reads this tensor, too, runs after those before it. Without,
            the layer makes a tensor of its own, of its own name.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    size: int
    into: str | None = None

    @property
    def makes(self) -> str:
        """The tensor that it makes, or helps to make."""
        return self.into or self.name


@dataclass(slots=True)
class Topology:
    """A network without its weights, layer by layer in file order.

    Attributes:
        inputs: Bytes of each input, by its name.
        layers: Each after the layers whose tensors it reads.
        outputs: Names of the tensors that it returns.
    """

    inputs: dict[str, int]
    layers: list[Layer] = field(default_factory=list)
    outputs: tuple[str, ...] = ()

    def add(self, kind: str, size: int, *inputs: str) -> str:
        """Append a layer that makes `size` bytes; returns the name of what it makes."""
        name = f"{kind}_{len(self.layers)}"
        self.layers.append(Layer(name, kind, inputs, size))
        return name

    def sizes(self) -> dict[str, int]:
        """Bytes of each tensor: the inputs, then what is made, in file order."""
        return self.inputs | {layer.makes: layer.size for layer in self.layers}

    def memory_graph(self) -> MemoryGraph:
        """One op a layer in the same order, one buffer a tensor."""
        sizes = self.sizes()
        number = {name: index for index, name in enumerate(sizes)}
        makers: dict[str, list[int]] = {name: [] for name in sizes}
        for index, layer in enumerate(self.layers):
            makers[layer.makes].append(index)
        ops, preds = [], []
        for index, layer in enumerate(self.layers):
            made = number[layer.makes]
            touches = dict.fromkeys((made, *(number[name] for name in layer.inputs)))
            ops.append(Op(layer.name, tuple(touches), frozenset(() if layer.into is None else (made,))))
            before = {maker for name in layer.inputs for maker in makers[name] if maker < index}
            preds.append(tuple(sorted(before)))
        buffers = (
            Buffer(name, size, live_in=name in self.inputs, live_out=name in self.outputs)
            for name, size in sizes.items()
        )
        return MemoryGraph(tuple(ops), tuple(buffers), tuple(preds))


def layer_kind(node: onnx.NodeProto, inputs: Sequence[str], dims: Sequence[int]) -> str:
    """The operator of a node, told apart where rewriting must know more of it.

    `Conv` has one group and `DepthwiseConv` one a channel; `Concat` is along the channels. An attribute
    that the file lacks has ONNX's default, or for the axis 1. Any other convolution is a `GeneralConv`,
    one whose weights are computed for instance, and any other concatenation a `GeneralConcat`.

    Args:
        node: Has an input at least.
        inputs: Names of those inputs that are no constants.
        dims: Shape of the first input; empty where it is not known.
    """
    attributes = {item.name: item.i for item in node.attribute}
    if node.op_type == "Conv":
        groups = attributes.get("group", 1)
        if list(inputs) == list(node.input[:1]) and groups in (1, *dims[1:2]):
            return "Conv" if groups == 1 else "DepthwiseConv"
        return "GeneralConv"
    if node.op_type == "Concat" and attributes.get("axis", 1) not in (1, 1 - len(dims)):
        return "GeneralConcat"
    return node.op_type


def read_topology(path: Path) -> Topology:
    """The topology of an ONNX file; its tensors' types are taken as they stand there.

    The file may lack weights and attributes, so it is not checked as a model that is to be
    compiled is. A convolution without weights that keeps the bytes of the concatenation which it reads is
    taken to be depthwise, as all of SwiftNet's are that do.

    Raises:
        SerenityError: The file cannot be read, or a node has several outputs, an input that nothing
            before it makes, or an output whose size the file does not say.
    """
    try:
        graph = onnx.load(path).graph
    except Exception as error:  # protobuf's own class is no part of onnx's interface
        raise SerenityError(f"is not an ONNX model: {error}", file=str(path)) from error
    constants = {tensor.name for tensor in graph.initializer}
    types = {item.name: item.type for item in (*graph.input, *graph.value_info, *graph.output)}

    def size(name: str) -> int:
        tensor = types[name].tensor_type if name in types else onnx.TypeProto.Tensor()
        dims = [dim.dim_value for dim in tensor.shape.dim]
        if not tensor.elem_type or any(not dim.HasField("dim_value") for dim in tensor.shape.dim):
            raise SerenityError(
                f"tensor '{name}' has no constant size", file=str(path), hint="run ONNX shape inference"
            )
        return int(prod(dims) * packed_bits(tensor.elem_type) + 7) // 8

    found = Topology({item.name: size(item.name) for item in graph.input if item.name not in constants})
    known = set(found.inputs)
    concats: dict[str, int] = {}
    for index, node in enumerate(graph.node):
        where = f"node {index} '{node.name}' ({node.op_type})"
        inputs = tuple(name for name in node.input if name and name not in constants)
        if len(node.output) != 1:
            raise SerenityError("has several outputs", file=str(path), where=where)
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise SerenityError(
                f"no earlier node makes its input '{unknown[0]}'", file=str(path), where=where
            )
        dims = [
            dim.dim_value
            for name in node.input[:1]
            if name in types
            for dim in types[name].tensor_type.shape.dim
        ]
        kind, (name,) = layer_kind(node, inputs, dims), node.output
        if kind == "Conv" and len(node.input) == 1 and size(name) == concats.get(inputs[0]):
            kind = "DepthwiseConv"
        if kind == "Concat":
            concats[name] = size(name)
        found.layers.append(Layer(name, kind, inputs, size(name)))
        known.add(name)
    found.outputs = tuple(item.name for item in graph.output)
    return found
