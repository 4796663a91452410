"""Topological order: what the ONNX specification asks for, and some exporters do not deliver."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import onnx

from serenity_mlir.errors import SerenityError

from .walk import describe, subgraphs, value_names

if TYPE_CHECKING:
    from collections.abc import Iterable


_HINT = "the graph was cut or damaged: export it again"


def order_nodes(model: onnx.ModelProto) -> None:
    """Restores topological order in the main graph, in every subgraph and in every model-local function.

    Nodes that are in order already stay exactly where they are: among the nodes that are ready, the one
    stored first comes first.

    Args:
        model: Changed in place.

    Raises:
        SerenityError: A value is read that nothing makes, made twice, or depends on itself.
    """
    for function in model.functions:
        _order(function, set(function.input))
    _order_graph(model.graph, frozenset())


def _order_graph(graph: onnx.GraphProto, outer: frozenset[str]) -> None:
    own = value_names(graph.input) + [tensor.name for tensor in graph.initializer]
    own += [tensor.values.name for tensor in graph.sparse_initializer]
    defined = outer | set(own)
    _order(graph, defined)
    for output in graph.output:
        made = defined.union(*(node.output for node in graph.node))
        if output.name not in made:
            raise SerenityError(
                f"nothing makes the output '{output.name}'", where=f"graph '{graph.name}'", hint=_HINT
            )


def _order(scope: onnx.GraphProto | onnx.FunctionProto, defined: Iterable[str]) -> None:
    """Orders the nodes of one scope in place, and the scopes nested in it."""
    nodes = scope.node
    known = frozenset(defined)
    maker = _makers(nodes, known)
    visible = known | maker.keys()
    waiting = []
    readers: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for graph in subgraphs(node):
            _order_graph(graph, visible)
        sources = set()
        for name in _reads(node):
            if name in maker:
                sources.add(maker[name])
            elif name not in known:
                raise SerenityError(
                    f"reads '{name}', which nothing makes",
                    where=describe(node),
                    hint=_HINT,
                )
        waiting.append(len(sources))
        for source in sources:
            readers[source].append(index)
    order = _topological(waiting, readers)
    if len(order) < len(nodes):
        stuck = min(set(range(len(nodes))) - set(order))
        raise SerenityError(
            "depends on its own result: the graph has a cycle", where=describe(nodes[stuck]), hint=_HINT
        )
    if order != list(range(len(nodes))):
        # The copies outlive the clearing of the field that they were read from.
        sorted_nodes = [_copy(nodes[index]) for index in order]
        del nodes[:]
        nodes.extend(sorted_nodes)


def _topological(waiting: list[int], readers: list[list[int]]) -> list[int]:
    ready = [index for index, count in enumerate(waiting) if not count]
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers[index]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    return order


def _makers(nodes: Iterable[onnx.NodeProto], known: frozenset[str]) -> dict[str, int]:
    """Returns which node makes each value, having checked that no value is made twice."""
    maker: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.output:
            if not name:
                continue
            if name in maker or name in known:
                raise SerenityError(f"makes '{name}', which exists already", where=describe(node), hint=_HINT)
            maker[name] = index
    return maker


def _reads(node: onnx.NodeProto) -> set[str]:
    """Returns what a node reads: its inputs, and what its subgraphs capture from outside."""
    names = {name for name in node.input if name}
    for graph in subgraphs(node):
        names |= _captured(graph)
    return names


def _captured(graph: onnx.GraphProto) -> set[str]:
    inside = set(value_names(graph.input))
    inside.update(tensor.name for tensor in graph.initializer)
    inside.update(tensor.values.name for tensor in graph.sparse_initializer)
    inside.update(name for node in graph.node for name in node.output)
    read = {output.name for output in graph.output}
    for node in graph.node:
        read |= _reads(node)
    return read - inside


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy
