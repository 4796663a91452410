"""Mean of many tensors, written as a chain of sums: IREE takes no more than three at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import helper, numpy_helper

from .walk import all_graphs

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_OPERANDS = 3
"""Mean of four fails to legalise; Sum, Max and Min of forty do (measured with IREE 3.13)."""


def expand_variadic(model: onnx.ModelProto) -> bool:
    """Replaces every Mean of more than three tensors by additions from the left, times 1/n.

    That is how onnxruntime computes it, so the result is the same to the bit.

    Args:
        model: After shape inference; changed in place. Names of the nodes that are made begin with the
            name of the Mean.

    Returns:
        Whether anything was replaced, so that shapes need to be inferred again.
    """
    names = {name for graph in all_graphs(model) for node in graph.node for name in node.output}
    replaced = False
    for graph in all_graphs(model):
        types = {value.name: value.type.tensor_type.elem_type for value in (*graph.value_info, *graph.output)}
        nodes: list[onnx.NodeProto] = []
        for node in graph.node:
            if _is_long_mean(node):
                nodes.extend(_chain(node, types[node.output[0]], names))
            else:
                nodes.append(_copy(node))
        if len(nodes) > len(graph.node):
            del graph.node[:]
            graph.node.extend(nodes)
            replaced = True
    return replaced


def _is_long_mean(node: onnx.NodeProto) -> bool:
    return node.op_type == "Mean" and node.domain == "" and len(node.input) > _MOST_OPERANDS


def _chain(mean: onnx.NodeProto, element: int, names: set[str]) -> Iterator[onnx.NodeProto]:
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
    dtype = helper.tensor_dtype_to_np_dtype(element)
    one, count = dtype.type(1), dtype.type(len(mean.input))
    share = fresh("share")
    value = numpy_helper.from_array((one / count).reshape(()), share)
    yield helper.make_node("Constant", [], [share], name=f"{mean.name}/Constant", value=value)
    yield helper.make_node("Mul", [total, share], [mean.output[0]], name=f"{mean.name}/Mul")


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy
