"""Walks over the nested parts of an ONNX model: subgraphs, tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import onnx


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yields the graphs that a node holds (branches of If, bodies of Loop and Scan), not deeper ones."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def all_graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Yields the main graph and every graph nested in it or in a model-local function, outermost first."""
    pending = [model.graph]
    for function in model.functions:
        for node in function.node:
            pending.extend(subgraphs(node))
    while pending:
        graph = pending.pop()
        yield graph
        for node in graph.node:
            pending.extend(subgraphs(node))


def all_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yields every node of every graph and function of the model."""
    for function in model.functions:
        yield from function.node
    for graph in all_graphs(model):
        yield from graph.node


def all_tensors(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Yields every tensor that the model stores, with words that say where it is."""
    for graph in all_graphs(model):
        for tensor in graph.initializer:
            yield f"initializer '{tensor.name}'", tensor
    for node in all_nodes(model):
        for attribute in node.attribute:
            where = f"node '{node.name}' ({node.op_type}), attribute '{attribute.name}'"
            if attribute.HasField("t"):
                yield where, attribute.t
            for tensor in attribute.tensors:
                yield where, tensor


def value_names(values: Iterable[onnx.ValueInfoProto]) -> list[str]:
    """Returns the names of values, in their order."""
    return [value.name for value in values]


def describe(node: onnx.NodeProto) -> str:
    """Returns how messages name a node: its name, and its op, with the domain if it is not ONNX's own."""
    op = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    return f"node '{node.name}' ({op})"
