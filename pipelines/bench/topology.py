"""Networks as the SERENITY paper sees them: layers, and the bytes of what each one makes.

Nothing is in place: each layer has an output of its own. A network's inputs are there from the
start and count until their last use; its outputs count to the end. Weights do not count.
"""

from __future__ import annotations

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
        name: Of the tensor that it makes, too.
        kind: The operator, as ONNX names it.
        inputs: Names of the tensors that it reads.
        size: Bytes of the tensor that it makes.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    size: int


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

    def memory_graph(self) -> MemoryGraph:
        """One op a layer in the same order, one buffer an input and one a layer."""
        names = [*self.inputs, *(layer.name for layer in self.layers)]
        number = {name: index for index, name in enumerate(names)}
        first = len(self.inputs)
        ops, preds = [], []
        for index, layer in enumerate(self.layers):
            reads = dict.fromkeys(number[name] for name in layer.inputs)
            ops.append(Op(layer.name, (first + index, *reads)))
            preds.append(tuple(sorted(read - first for read in reads if read >= first)))
        buffers = [Buffer(name, size, True, name in self.outputs) for name, size in self.inputs.items()]
        buffers += [
            Buffer(layer.name, layer.size, live_out=layer.name in self.outputs) for layer in self.layers
        ]
        return MemoryGraph(tuple(ops), tuple(buffers), tuple(preds))


def read_topology(path: Path) -> Topology:
    """The topology of an ONNX file; its tensors' types are taken as they stand there.

    The file may lack weights and attributes, so it is not checked as a model that is to be
    compiled is.

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
        found.layers.append(Layer(node.output[0], node.op_type, inputs, size(node.output[0])))
        known.add(node.output[0])
    found.outputs = tuple(item.name for item in graph.output)
    return found
