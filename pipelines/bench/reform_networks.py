"""The networks of the ReForm paper's evaluation as ONNX models: LeNet, and VGG for 32 x 32 images.

LeNet is the one of TensorFlow's tutorial, as its 12.6 MB by Eq. 2 say: 5 x 5 convolutions of 32 and 64
filters, a hidden layer of 1024. VGG is VGG-16's 13 convolutions with layers of 512, 512 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import onnx

VGG = (64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool", 512, 512, 512, "pool", 512, 512, 512, "pool")


def lenet(seed: int) -> onnx.ModelProto:
    """LeNet for 28 x 28 digits, with random weights."""
    net = _Chain((1, 28, 28), seed)
    for filters in (32, 64):
        net.conv(filters, kernel=5)
        net.pool()
    net.flatten()
    net.linear(1024)
    net.relu()
    net.linear(10)
    return net.model()


def vgg(seed: int) -> onnx.ModelProto:
    """VGG with 13 convolutions for 32 x 32 images, with random weights."""
    net = _Chain((3, 32, 32), seed)
    for item in VGG:
        if isinstance(item, int):
            net.conv(item, kernel=3)
        else:
            net.pool()
    net.flatten()
    for width in (512, 512):
        net.linear(width)
        net.relu()
    net.linear(10)
    return net.model()


class _Chain:
    """A network of layers one behind the other, its weights by He et al.'s initialisation."""

    def __init__(self, shape: Sequence[int], seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._shape = tuple(shape)
        self._input = self._shape
        self._last = "image"
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def conv(self, filters: int, *, kernel: int) -> None:
        """A convolution of the same size with its ReLU."""
        channels, height, width = self._shape
        name = self._layer("Conv", (filters, channels, kernel, kernel), pads=[kernel // 2] * 4)
        self._shape = (filters, height, width)
        self._last = name
        self.relu()

    def linear(self, width: int) -> None:
        """A layer that is connected to all of the one before."""
        self._last = self._layer("Gemm", (width, *self._shape), transB=1)
        self._shape = (width,)

    def relu(self) -> None:
        """A ReLU."""
        self._op("Relu")

    def pool(self) -> None:
        """The maximum of 2 x 2."""
        self._op("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
        channels, height, width = self._shape
        self._shape = (channels, height // 2, width // 2)

    def flatten(self) -> None:
        """All channels and positions along one axis."""
        self._op("Flatten")
        self._shape = (prod(self._shape),)

    def model(self) -> onnx.ModelProto:
        """The model, its batch size open."""
        from onnx import TensorProto, helper  # noqa: PLC0415  (heavy)

        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", *self._input])
        logits = helper.make_tensor_value_info(self._last, TensorProto.FLOAT, ["N", *self._shape])
        graph = helper.make_graph(self._nodes, "network", [image], [logits], self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def _layer(self, op: str, shape: tuple[int, ...], **attributes: Any) -> str:
        from onnx import helper, numpy_helper  # noqa: PLC0415  (heavy)

        name = f"{op.lower()}{sum(node.op_type == op for node in self._nodes) + 1}"
        scale = np.sqrt(2 / prod(shape[1:]))
        weight = (self._rng.standard_normal(shape) * scale).astype(np.float32)
        self._weights.append(numpy_helper.from_array(weight, f"{name}.weight"))
        self._weights.append(numpy_helper.from_array(np.zeros(shape[0], np.float32), f"{name}.bias"))
        inputs = [self._last, f"{name}.weight", f"{name}.bias"]
        self._nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def _op(self, op: str, **attributes: Any) -> None:
        from onnx import helper  # noqa: PLC0415  (heavy)

        name = f"{op.lower()}{sum(node.op_type == op for node in self._nodes) + 1}"
        self._nodes.append(helper.make_node(op, [self._last], [name], name=name, **attributes))
        self._last = name
