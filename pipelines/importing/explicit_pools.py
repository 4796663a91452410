"""Pooling with `ceil_mode`, written with the padding that it stands for.

IREE rounds the size up without ONNX's second rule (a window that would begin in the end padding is left out),
and averages over more than it should at the rim: it fails on the former and is wrong on the latter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

from serenity_mlir.errors import SerenityError

from .clean_graph import STANDARD_DOMAIN
from .infer_shapes import infer_shapes
from .tensor_bytes import DAMAGED
from .walk import all_graphs, all_nodes, describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

_POOLS = ("AveragePool", "MaxPool", "LpPool")


def explicit_pools(model: onnx.ModelProto) -> None:
    """Replaces `ceil_mode` by the end padding that makes rounding down give the same size.

    Padding counts for nothing in MaxPool, in LpPool and in an AveragePool that does not count it.

    Args:
        model: With large weights held, in topological order; changed in place.

    Raises:
        SerenityError: The padding cannot be known, or would be counted into an average.
    """
    for node in all_nodes(model):
        if _rounds_up(node):
            # ONNX's inference breaks the second rule too: sizes are right once earlier pools are explicit.
            typed = infer_shapes(model)
            _make_explicit(
                node,
                {
                    value.name: value.type
                    for graph in all_graphs(typed)
                    for value in (*graph.value_info, *graph.input, *graph.output)
                },
            )


def _rounds_up(node: onnx.NodeProto) -> bool:
    if node.op_type not in _POOLS or node.domain != STANDARD_DOMAIN:
        return False
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    return bool(given.get("ceil_mode")) and given.get("auto_pad", b"NOTSET") == b"NOTSET"


def _make_explicit(node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto]) -> None:
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    kernel = list(given["kernel_shape"])
    axes = range(len(kernel))
    strides = given.get("strides") or [1 for _ in axes]
    dilations = given.get("dilations") or [1 for _ in axes]
    pads = list(given.get("pads") or [0 for _ in (*axes, *axes)])
    if len(strides) != len(kernel) or len(dilations) != len(kernel) or len(pads) != 2 * len(kernel):
        raise SerenityError(
            "strides, dilations or pads do not fit the kernel", where=describe(node), hint=DAMAGED
        )
    if min(*strides, *dilations, *kernel) < 1:
        raise SerenityError("a stride, dilation or size is not positive", where=describe(node), hint=DAMAGED)
    sizes = _spatial_sizes(node, types, len(kernel))
    counted = node.op_type == "AveragePool" and given.get("count_include_pad", 0)
    for axis in axes:
        begin, end = pads[axis], pads[len(kernel) + axis]
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        needed = _end_padding(sizes[axis], begin, end, reach, strides[axis])
        if counted and needed > end:
            raise SerenityError(
                "an average over padding that ceil_mode adds cannot be compiled",
                where=describe(node),
                hint="set count_include_pad=0, or ceil_mode=0 with a Pad before the pooling",
            )
        pads[len(kernel) + axis] = needed
    kept = [attribute for attribute in node.attribute if attribute.name not in ("ceil_mode", "pads")]
    kept.append(helper.make_attribute("pads", pads))
    del node.attribute[:]
    node.attribute.extend(kept)


def _end_padding(size: int, begin: int, end: int, reach: int, stride: int) -> int:
    """Returns the end padding with which rounding down gives the windows of rounding up with `end`."""
    windows = -(-(size + begin + end - reach) // stride) + 1
    if (windows - 1) * stride >= size + begin:
        windows -= 1
    return max(0, (windows - 1) * stride + reach - size - begin)


def _spatial_sizes(node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto], count: int) -> Sequence[int]:
    kind = types.get(node.input[0])
    dims = list(kind.tensor_type.shape.dim)[2:] if kind is not None else []
    if len(dims) != count or any(not dim.HasField("dim_value") for dim in dims):
        raise SerenityError(
            "pooling with ceil_mode needs an input of known height and width",
            where=describe(node),
            hint="fix the sizes of the model's inputs, or set ceil_mode=0",
        )
    return [dim.dim_value for dim in dims]
