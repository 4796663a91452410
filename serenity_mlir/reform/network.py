"""A neural network as its channel rules see it: nodes, tensors, constants; free of any file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from serenity_mlir.errors import SerenityError

Array = npt.NDArray[Any]
Attribute = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Array

OLDEST_OPSET = 13
"""The rules know operators as they are from this version of ONNX's on: sizes and axes are inputs."""

_LAST_AXIS = ("MatMul", "QLinearMatMul", "MatMulInteger")
_SECOND_AXIS = ("Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "BatchNormalization")


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A value that nodes make or read.

    Attributes:
        name: Unique in its network.
        shape: Elements along each axis; None where that is not known before the network runs.
        dtype: NumPy's name of the element type ("float32", "int8", …).
        value: What a constant holds, of exactly that shape and type; None for everything else.
        ranked: Whether the number of axes is known; the shape is empty where it is not.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    value: Array | None = None
    ranked: bool = True

    @classmethod
    def constant(cls, name: str, value: Array) -> Tensor:
        """A constant of the shape and element type of `value`."""
        return cls(name, value.shape, value.dtype.name, value)

    @property
    def elements(self) -> int | None:
        """How many elements it has; None where a size is not known."""
        if not self.ranked or None in self.shape:
            return None
        return prod(size for size in self.shape if size is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operator, in ONNX's words.

    Attributes:
        name: Unique in its network.
        op: "Conv", "Gemm", …; "domain::Op" where the operator is none of ONNX's own.
        inputs: Names of tensors, "" for an optional one that is left out. What subgraphs of the node read
            from outside stands behind the node's own inputs.
        outputs: Likewise.
        attributes: By name; subgraphs are left out.
        own_inputs: How many of the inputs are the node's own.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    own_inputs: int = -1

    def __post_init__(self) -> None:
        if self.own_inputs < 0:
            object.__setattr__(self, "own_inputs", len(self.inputs))

    def __str__(self) -> str:
        return f"node '{self.name}' ({self.op})"

    def input(self, index: int) -> str:
        """The name of an input; "" where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise SerenityError(f"attribute '{name}' is no integer", where=str(self))
        return value

    def real(self, name: str, default: float) -> float:
        """A real attribute."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int | float):
            raise SerenityError(f"attribute '{name}' is no number", where=str(self))
        return float(value)

    def text(self, name: str, default: str) -> str:
        """An attribute that is text."""
        value = self.attributes.get(name, default)
        if not isinstance(value, str):
            raise SerenityError(f"attribute '{name}' is no text", where=str(self))
        return value

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute that lists integers; None where it is not given."""
        value = self.attributes.get(name)
        if value is None:
            return None
        if not isinstance(value, tuple):
            raise SerenityError(f"attribute '{name}' lists no integers", where=str(self))
        return tuple(int(item) for item in value)

    def with_input(self, index: int, name: str) -> Node:
        """The node with another tensor as one of its own inputs, omitted ones before it spelled out."""
        own = list(self.inputs[: self.own_inputs])
        own += [""] * (index + 1 - len(own))
        own[index] = name
        return replace(self, inputs=(*own, *self.inputs[self.own_inputs :]), own_inputs=len(own))


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes in topological order, and the tensors between them.

    Attributes:
        nodes: Every operator except those that only hold a constant.
        tensors: Every tensor by name: inputs, constants, results.
        inputs: Names of what the caller gives.
        outputs: Names of what the caller gets.
    """

    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @cached_property
    def producers(self) -> Mapping[str, Node]:
        """The node that makes each tensor; inputs and constants have none."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Node, ...]]:
        """The nodes that read each tensor, each once, in order; () where nobody does."""
        found: dict[str, list[Node]] = {name: [] for name in self.tensors}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                if name:
                    found[name].append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    @cached_property
    def constants(self) -> frozenset[str]:
        """The tensors that are the same in every run: constants, and what is made of nothing else."""
        found = {name for name, tensor in self.tensors.items() if tensor.value is not None}
        for node in self.nodes:
            random = node.op.startswith("Random") or node.op in ("Bernoulli", "Multinomial")
            if node.inputs and not random and all(name in found for name in node.inputs if name):
                found.update(node.outputs)
        return frozenset(found)

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """The nodes by their names."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def channel_axes(self) -> Mapping[str, int]:
        """For each tensor the axis of its channels: the last of a product of matrices, else axis 1.

        What is made of such a product element by element (a bias added, an activation) has its axis.
        """
        last: set[str] = set()
        for node in self.nodes:
            before = [item for item in node.inputs if item and self.value(item) is None]
            for name in node.outputs:
                alike = [item for item in before if self.shape(item) == self.shape(name)] if name else []
                follows = len(before) == len(alike) == 1 and alike[0] in last
                if node.op in _LAST_AXIS or (follows and node.op not in _SECOND_AXIS):
                    last.add(name)
        ranks = {name: len(tensor.shape) for name, tensor in self.tensors.items()}
        return {name: rank - 1 if name in last else min(1, rank - 1) for name, rank in ranks.items()}

    def value(self, name: str) -> Array | None:
        """What a constant holds; None for "" and for what is no constant."""
        return self.tensors[name].value if name else None

    def shape(self, name: str) -> tuple[int | None, ...]:
        """Elements along each axis of a tensor."""
        return self.tensors[name].shape

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The elements of a constant of integers; None for "" and for what is no constant."""
        value = self.value(name)
        return None if value is None else tuple(int(item) for item in np.ravel(value))

    def fresh(self, wanted: str) -> str:
        """A name that no tensor and no node has: `wanted`, or that with a number."""
        name, copies = wanted, 0
        while name in self.tensors or name in self.by_name:
            copies += 1
            name = f"{wanted}_{copies}"
        return name
