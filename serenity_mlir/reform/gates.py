"""Gates: which channels of which tensors are multiplied by zero, and the network that does it in the open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from serenity_mlir.errors import SerenityError
from serenity_mlir.reform.network import Network, Node, Tensor

Gates = Mapping[str, npt.NDArray[np.bool_]]
"""By tensor: whether each of its channels is kept. The others are multiplied by 0 where they are made."""

_LAST_AXIS = ("MatMul", "QLinearMatMul", "MatMulInteger")
_FIRST_OF_CHANNELS = 1


def gate_axis(network: Network, name: str) -> int:
    """The axis along which the channels of a tensor lie: the last of a product of matrices, else axis 1.

    What is made of such a product element by element (a bias added, an activation) has its axis.
    """
    rank = len(network.shape(name))
    node = network.producers.get(name)
    while node is not None and node.op not in _LAST_AXIS:
        before = [item for item in node.inputs if item and network.value(item) is None]
        same = [item for item in before if network.shape(item) == network.shape(name)]
        if len(before) != 1 or len(same) != 1:
            return min(_FIRST_OF_CHANNELS, rank - 1)
        node = network.producers.get(same[0])
    return rank - 1 if node is not None else min(_FIRST_OF_CHANNELS, rank - 1)


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
            made, mask = tensors[name], network.fresh(f"{name}/gate")
            shape = [1] * len(made.shape)
            shape[gate_axis(network, name)] = -1
            tensors[renamed[name]] = replace(made, name=renamed[name])
            tensors[mask] = Tensor.constant(mask, gates[name].reshape(shape).astype(made.dtype))
            multiply = network.fresh(f"{name}/gated")
            nodes.append(Node(multiply, "Mul", (renamed[name], mask), (name,)))
    return replace(network, nodes=tuple(nodes), tensors=tensors)
