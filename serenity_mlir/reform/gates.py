"""Gates: which channels of which tensors are multiplied by zero, and the network that does it in the open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from serenity_mlir.errors import SerenityError
from serenity_mlir.reform.network import Network, Node, Tensor

Keep = npt.NDArray[np.bool_]
Gates = Mapping[str, Keep]
"""By tensor: whether each of its channels is kept. The others are multiplied by 0 where they are made."""

_ZERO_POINTS = {"QuantizeLinear": 2, "QLinearConv": 7, "QLinearMatMul": 7}
_PLAIN = ("float16", "float32", "float64", "bfloat16", "int32", "int64")
"""Element types in which nothing but 0 stands for zero, and which can be multiplied."""


def gate_axis(network: Network, name: str) -> int:
    """The axis along which the channels of a tensor lie."""
    return network.channel_axes[name]


def check_gates(network: Network, gates: Gates) -> None:
    """Refuse gates that do not fit a network.

    Raises:
        SerenityError: A gate is on a tensor that no node makes, or has not one entry a channel.
    """
    for name, keep in gates.items():
        if name not in network.producers:
            what = "no node makes this tensor" if name in network.tensors else "there is no such tensor"
            raise SerenityError(what, where=f"gate on '{name}'", hint="gate the output of a node")
        shape = network.shape(name)
        size = shape[gate_axis(network, name)] if shape else None
        if size is None or keep.shape != (size,) or keep.dtype != np.bool_:
            raise SerenityError(
                f"a tensor of shape {list(shape)} wants {size} booleans, one a channel, not {keep.shape} of"
                f" {keep.dtype}",
                where=f"gate on '{name}'",
            )


def quantised_zero(network: Network, name: str) -> float:
    """What a tensor stores for zero: its zero point where it is quantised.

    Raises:
        SerenityError: It is quantised, and its zero point is not known or not the same everywhere.
    """
    node = network.producers[name]
    if node.op in _ZERO_POINTS:
        point = node.input(_ZERO_POINTS[node.op])
        value = network.value(point) if point else np.zeros(1)
        if value is not None and value.size == 1:
            return float(value.ravel()[0])
    elif network.tensors[name].dtype in _PLAIN:
        return 0.0
    raise SerenityError(
        f"it is not known what {network.tensors[name].dtype} stands for zero here",
        where=f"gate on '{name}'",
        hint="gate the tensor before it is quantised",
    )


def gating(  # noqa: PLR0913, PLR0917  (what a gate is made of)
    name: str, tensor: Tensor, keep: Keep, axis: int, zero: float, fresh: Callable[[str], str]
) -> tuple[Node, tuple[Tensor, ...]]:
    """The node that gates a tensor.

    Args:
        name: What its result is called.
        tensor: What it reads.
        keep: Whether each channel is kept.
        axis: Where they lie.
        zero: What stands for zero.
        fresh: Makes names.

    Returns:
        A Mul by 1 and 0, or for quantised elements a Where; and the constants that it reads.
    """
    shape = [1] * len(tensor.shape)
    shape[axis] = -1
    mask = fresh(f"{name}/gate")
    if tensor.dtype in _PLAIN:
        constant = Tensor.constant(mask, keep.reshape(shape).astype(tensor.dtype))
        return Node(fresh(f"{name}/gated"), "Mul", (tensor.name, mask), (name,)), (constant,)
    point = Tensor.constant(fresh(f"{name}/zero"), np.array(zero, tensor.dtype))
    node = Node(fresh(f"{name}/gated"), "Where", (mask, tensor.name, point.name), (name,))
    return node, (Tensor.constant(mask, keep.reshape(shape)), point)


def masked_network(network: Network, gates: Gates) -> Network:
    """The network with each gated tensor multiplied by 0 and 1 right where it is made.

    Raises:
        SerenityError: A gate does not fit the network.
    """
    check_gates(network, gates)
    tensors = dict(network.tensors)
    nodes: list[Node] = []
    for node in network.nodes:
        gated = [name for name in node.outputs if name in gates and not gates[name].all()]
        renamed = {name: network.fresh(f"{name}/ungated") for name in gated}
        nodes.append(replace(node, outputs=tuple(renamed.get(name, name) for name in node.outputs)))
        for name in gated:
            raw = replace(tensors[name], name=renamed[name])
            zero = quantised_zero(network, name)
            made, constants = gating(name, raw, gates[name], gate_axis(network, name), zero, network.fresh)
            nodes.append(made)
            tensors.update((tensor.name, tensor) for tensor in (raw, *constants))
    return replace(network, nodes=tuple(nodes), tensors=tensors)
