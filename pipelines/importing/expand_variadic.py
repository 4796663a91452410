"""Mean of many tensors, written as a chain of sums: IREE takes no more than three at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, helper

from .walk import all_graphs

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_OPERANDS = 3
"""Mean of four fails to legalise; Sum, Max and Min of six and more do (measured, IREE 3.13)."""


def expand_variadic(model: onnx.ModelProto) -> None:
    """Replaces every Mean of more than three tensors by additions from the left and a division.

    That is the order in which onnxruntime adds, so the result is the same to the bit.

    Args:
        model: Changed in place. Names of the nodes that are made begin with the name of the Mean.
    """
    names = {name for graph in all_graphs(model) for node in graph.node for name in node.output}
    for graph in all_graphs(model):
        if not any(_is_long_mean(node) for node in graph.node):
            continue
        nodes: list[onnx.NodeProto] = []
        for node in graph.node:
            if _is_long_mean(node):
                nodes.extend(_chain(node, names))
            else:
                copy = onnx.NodeProto()
                copy.CopyFrom(node)
                nodes.append(copy)
        del graph.node[:]
        graph.node.extend(nodes)


def _is_long_mean(node: onnx.NodeProto) -> bool:
    return node.op_type == "Mean" and node.domain == "" and len(node.input) > _MOST_OPERANDS


def _chain(mean: onnx.NodeProto, names: set[str]) -> Iterator[onnx.NodeProto]:
    def fresh(role: str) -> str:
        name = f"{mean.output[0]}/{role}"
        while name in names:
            name += "_"
        names.add(name)
        return name

    total = mean.input[0]
    for index, operand in enumerate(mean.input[1:], 1):
        added = fresh(f"sum_{index}")
        yield helper.make_node("Add", [total, operand], [added], name=f"{mean.name}/Add_{index}")
        total = added
    # CastLike spares the element type, which is not known before shape inference.
    count, like = fresh("count"), fresh("count_like")
    value = helper.make_tensor(count, TensorProto.FLOAT, [], [float(len(mean.input))])
    yield helper.make_node("Constant", [], [count], name=f"{mean.name}/count", value=value)
    yield helper.make_node("CastLike", [count, total], [like], name=f"{mean.name}/CastLike")
    yield helper.make_node("Div", [total, like], [mean.output[0]], name=f"{mean.name}/Div")
