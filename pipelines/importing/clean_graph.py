"""Small repairs of what exporters leave behind: domains, versions, initialisers, names."""

from __future__ import annotations

import onnx

from serenity_mlir.errors import SerenityError

from .tensor_bytes import DAMAGED
from .walk import all_graphs, all_nodes, subgraphs

STANDARD_DOMAIN = ""
"""How the standard operators' domain is spelled from here on; files also say "ai.onnx"."""


_CONSTANTS_FROM_IR = 4


def spell_domains(model: onnx.ModelProto) -> None:
    """Spells the standard domain one way, everywhere, and leaves one opset version a domain.

    Raises:
        SerenityError: Two versions are given of one domain.
    """
    versions: dict[str, int] = {}
    scopes = [model, *model.functions]
    for scope in scopes:
        versions = {}
        for opset in scope.opset_import:
            domain = _spelled(opset.domain)
            if versions.setdefault(domain, opset.version) != opset.version:
                raise SerenityError(
                    f"two opset versions are given for the domain '{domain or 'ai.onnx'}':"
                    f" {versions[domain]} and {opset.version}",
                    hint=DAMAGED,
                )
        # The specification's meaning of a file that names no version of the standard domain.
        versions.setdefault(STANDARD_DOMAIN, 1)
        del scope.opset_import[:]
        for domain, version in versions.items():
            scope.opset_import.add(domain=domain, version=version)
    for node in all_nodes(model):
        node.domain = _spelled(node.domain)


def opset_of(model: onnx.ModelProto) -> int:
    """Returns the version of the standard operators that a model is written in."""
    return next(int(opset.version) for opset in model.opset_import if opset.domain == STANDARD_DOMAIN)


def name_graph(model: onnx.ModelProto) -> None:
    """Gives the graph a name if it has none: the compiled entry function is called like the graph."""
    if not model.graph.name:
        model.graph.name = "main_graph"


def free_negative_sizes(model: onnx.ModelProto) -> None:
    """Makes the sizes that some exporters write as -1 what they mean: not known."""
    graph = model.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_value < 0:
                dim.ClearField("dim_value")


def separate_initializers(model: onnx.ModelProto) -> None:
    """Makes every initialiser a constant, and drops those that nothing reads.

    Before IR version 4 each initialiser was an input of the graph too, as a default that a caller may
    replace. No caller of a compiled module does, and every weight would become an argument.
    """
    initialized = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initialized]
    if len(inputs) < len(model.graph.input):
        kept = [_clone_value(value) for value in inputs]
        del model.graph.input[:]
        model.graph.input.extend(kept)
    model.ir_version = max(model.ir_version, _CONSTANTS_FROM_IR)
    read = {name for graph in all_graphs(model) for node in graph.node for name in node.input}
    read.update(output.name for graph in all_graphs(model) for output in graph.output)
    for graph in all_graphs(model):
        for index in reversed(range(len(graph.initializer))):
            if graph.initializer[index].name not in read:
                del graph.initializer[index]


def name_nodes(model: onnx.ModelProto) -> None:
    """Gives every node without a name one that says its op and its place in the file: `Conv_12`.

    Messages and locations then always have a name to show. Nodes of subgraphs are named after the node that
    holds them: `If_3/Add_0`.
    """
    taken = {node.name for node in all_nodes(model)}
    for function in model.functions:
        _name(function, f"{function.name}/", taken)
    _name(model.graph, "", taken)


def _name(scope: onnx.GraphProto | onnx.FunctionProto, prefix: str, taken: set[str]) -> None:
    for index, node in enumerate(scope.node):
        if not node.name:
            name = wanted = f"{prefix}{node.op_type}_{index}"
            copies = 1
            while name in taken:
                name = f"{wanted}_{copies}"
                copies += 1
            node.name = name
            taken.add(name)
        for graph in subgraphs(node):
            _name(graph, f"{node.name}/", taken)


def _spelled(domain: str) -> str:
    return STANDARD_DOMAIN if domain == "ai.onnx" else domain


def _clone_value(value: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
    clone = onnx.ValueInfoProto()
    clone.CopyFrom(value)
    return clone
