"""A network in torch, node by node: what differentiates it, and trains its weights in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.reform.train.operators import OPERATORS, Call
from serenity_mlir.reform.network import Tensor

if TYPE_CHECKING:
    from serenity_mlir.reform.network import Network, Node

# Operands that hold weights. A constant summand is a bias only behind a linear op: see `_weights`.
_WEIGHTS: Mapping[str, Sequence[int]] = {
    "BatchNormalization": (1, 2),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Gemm": (0, 1, 2),
    "InstanceNormalization": (1, 2),
    "MatMul": (0, 1),
    "PRelu": (1,),
}
_LINEAR = ("Conv", "ConvTranspose", "MatMul")


class Evaluator:
    """One network, whose constants are torch tensors.

    Args:
        network: Every op of it must be in `operators.OPERATORS`.

    Attributes:
        network: As given.
        weights: The constants that training changes, by name; leaves that require gradients.

    Raises:
        SerenityError: There is an op, or a constant's type, that has no counterpart here.
    """

    def __init__(self, network: Network) -> None:
        for node in network.nodes:
            if node.op not in OPERATORS:
                raise SerenityError(
                    f"{node.op} has no gradient here",
                    where=node.name,
                    hint="without gradients it can be pruned: leave out --static",
                )
        self.network = network
        self._constants = {
            name: _to_torch(name, tensor.value)
            for name, tensor in network.tensors.items()
            if tensor.value is not None
        }
        self.weights = {name: self._constants[name] for name in _weights(network, self._constants)}
        for weight in self.weights.values():
            weight.requires_grad_()
        self._last_use = {name: node for node in network.nodes for name in node.inputs if name}

    def run(
        self,
        inputs: Mapping[str, torch.Tensor],
        *,
        gates: Mapping[str, torch.Tensor] | None = None,
        keep: Sequence[str] = (),
    ) -> dict[str, torch.Tensor]:
        """The network's outputs, and the tensors of `keep`, by name.

        Args:
            inputs: Every input of the network, by name.
            gates: Factors of tensors by name, right where they are produced; shaped to broadcast.
            keep: Tensors to return besides, behind their gates.

        Raises:
            SerenityError: An input is missing, or an op has a form that is not supported.
        """
        missing = [name for name in self.network.inputs if name not in inputs]
        if missing:
            raise SerenityError(f"no values for input '{missing[0]}'", hint="name every input of the network")
        gates = gates or {}
        wanted = {*self.network.outputs, *keep}
        values = {**self._constants, **inputs}
        for node in self.network.nodes:
            results = _apply(node, [values[name] if name else None for name in node.inputs])
            for name, result in zip(node.outputs, results, strict=False):
                if name:
                    values[name] = result * gates[name] if name in gates else result
            for name in set(node.inputs) - wanted - self._constants.keys():
                if name and self._last_use[name] is node:
                    del values[name]  # what autograd does not hold is free from here on
        return {name: values[name] for name in (*self.network.outputs, *keep)}

    def trained(self) -> dict[str, np.ndarray]:
        """The weights as they are now, in the types of the file, by name: what is to be written back."""
        return {
            name: weight.detach().numpy().astype(self.network.tensors[name].dtype)
            for name, weight in self.weights.items()
        }

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Takes weights that `trained` gave: of a checkpoint, or of an earlier run."""
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(torch.from_numpy(weights[name]))


def with_weights(network: Network, weights: Mapping[str, np.ndarray]) -> Network:
    """The network with other values in some of its constants."""
    changed = {name: Tensor.constant(name, value) for name, value in weights.items()}
    return replace(network, tensors={**network.tensors, **changed})


def _apply(node: Node, operands: Sequence[torch.Tensor | None]) -> Sequence[torch.Tensor]:
    call = Call(node.name, node.op, node.attributes, operands, sum(map(bool, node.outputs)))
    results = OPERATORS[node.op](call)
    return results if isinstance(results, tuple) else (results,)


def _to_torch(name: str, value: np.ndarray) -> torch.Tensor:
    try:
        return torch.from_numpy(np.array(value))  # a copy: training writes into it
    except TypeError as error:
        raise SerenityError(
            f"constants of type {value.dtype} are not supported in training",
            where=name,
            hint="without gradients it can be pruned: leave out --static",
        ) from error


def _weights(network: Network, constants: Mapping[str, torch.Tensor]) -> list[str]:
    """Names of the floating-point constants that ops use as weights, in the order of their first use."""
    makers = {name: node.op for node in network.nodes for name in node.outputs}
    found: dict[str, None] = {}
    for node in network.nodes:
        places = _WEIGHTS.get(node.op, ())
        if node.op == "Add" and any(makers.get(name) in _LINEAR for name in node.inputs):
            places = (0, 1)
        for place in places:
            name = node.inputs[place] if place < len(node.inputs) else ""
            if name in constants and constants[name].is_floating_point():
                found[name] = None
    return list(found)
