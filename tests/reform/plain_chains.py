"""Networks in a chain, as ReForm's paper has them: convolutions with ReLUs and pools, then dense layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.reform.groups import ChannelGroup, Member
from serenity_mlir.reform.network import Network

POOL = 0
VGG13 = (64, 64, POOL, 128, 128, POOL, *(256,) * 3, POOL, *(512,) * 3, POOL, *(512,) * 3, POOL)
"""The 13 convolutions of VGG-16 on 32 x 32 images: channels, and where maps are halved."""


def chain(  # noqa: PLR0913  (a network has so many sizes)
    convolutions: Sequence[int],
    dense: Sequence[int],
    *,
    image: tuple[int, int, int] = (3, 32, 32),
    kernel: int = 3,
    batch: int | str = 1,
    seed: int = 0,
    weights: bool = True,
) -> onnx.ModelProto:
    """A network of convolutions of stride 1 that keep the size of maps, pools of 2, and dense layers.

    Args:
        convolutions: Output channels of each, or POOL.
        dense: Outputs of each dense layer; all but the last with a ReLU.
        image: Channels, height, width.
        kernel: Of the convolutions, odd.
        batch: Samples, or a name for any number.
        seed: Of the weights.
        weights: Whether they are random; all zero otherwise, which is quicker.
    """
    generator = np.random.default_rng(seed)
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []
    channels, height, width = image
    at = "x"

    def constant(name: str, *shape: int) -> str:
        fan = int(np.prod(shape[1:])) or 1
        value = generator.normal(0, fan**-0.5, shape) if weights else np.zeros(shape)
        constants.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def add(op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op.lower()}{len(nodes)}"
        nodes.append(helper.make_node(op, [at, *inputs], [name], name=name, **attributes))
        return name

    for index, size in enumerate(convolutions):
        if size == POOL:
            at = add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
            height, width = height // 2, width // 2
            continue
        weight = constant(f"w{index}", size, channels, kernel, kernel)
        at = add("Conv", weight, constant(f"b{index}", size), pads=[kernel // 2] * 4)
        at = add("Relu")
        channels = size
    at = add("Flatten")
    features = channels * height * width
    for index, size in enumerate(dense):
        at = add("Gemm", constant(f"fw{index}", size, features), constant(f"fb{index}", size), transB=1)
        features = size
        if index < len(dense) - 1:
            at = add("Relu")
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *image])],
        [helper.make_tensor_value_info(at, TensorProto.FLOAT, [batch, dense[-1]])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return infer_shapes(model)


def groups_of_chain(network: Network) -> tuple[ChannelGroup, ...]:
    """The groups of a chain's hidden layers, spelled out."""
    layers = [node for node in network.nodes if node.op in ("Conv", "Gemm")]
    groups: list[ChannelGroup] = []
    for layer, after in pairwise(layers):
        size = network.tensors[layer.inputs[1]].shape[0]
        assert size is not None
        each = np.arange(size)
        members = [Member(layer.outputs[0], 1, each), Member(layer.inputs[1], 0, each)]
        made, node = layer.outputs[0], network.consumers[layer.outputs[0]][0]
        while node is not after:
            made = node.outputs[0]
            length = network.tensors[made].shape[1]
            assert length is not None
            members.append(Member(made, 1, np.repeat(each, length // size)))
            (node,) = network.consumers[made]
        inputs = network.tensors[after.inputs[1]].shape[1]
        assert inputs is not None
        members.append(Member(after.inputs[1], 1, np.repeat(each, inputs // size)))
        groups.append(ChannelGroup(len(groups), size, (layer.outputs[0],), tuple(members)))
    return tuple(groups)
