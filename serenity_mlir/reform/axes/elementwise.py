"""Ops that work element by element: what broadcasts is tied, and constants go through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erf, sqrt
from typing import Any

import numpy as np

from serenity_mlir.reform.atoms import AxisMap
from serenity_mlir.reform.axes.rule import Rule, Rules, link_broadcast, present
from serenity_mlir.reform.known import Facts, Known, all_known
from serenity_mlir.reform.network import Array, Node

Compute = Callable[..., Any]
"""Of a node and its operands as arrays."""


@dataclass(frozen=True)
class ElementWise(Rule):
    """An op on operands that broadcast.

    Attributes:
        compute: The result for constants; None where it is not worth knowing.
        absorbing: Whether a zero in any operand makes the result zero (products).
    """

    compute: Compute | None = None
    absorbing: bool = False

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        link_broadcast(node, present(node), axes)

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """The op of what is known."""
        if self.compute is None:
            return ()
        result = facts.network.tensors[node.outputs[0]]
        operands = facts.aligned(present(node), len(result.shape))
        mask = all_known(operands)
        with np.errstate(all="ignore"):
            value = np.asarray(self.compute(node, *(item.value for item in operands)))
        if self.absorbing:
            zero = np.zeros(np.broadcast_shapes(*(item.mask.shape for item in operands)), np.bool_)
            for item in operands:
                zero = zero | (item.mask & (item.value == 0))
            value, mask = np.where(zero, 0, value), mask | zero
        return (Known.of(value, mask, result.dtype),)


class Clip(ElementWise):
    """Limits are scalars, and each of the two may be left out."""

    def __init__(self) -> None:
        super().__init__(None)

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        link_broadcast(node, node.inputs[:1], axes)

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """Constants between the limits."""
        data = facts[node.inputs[0]]
        limits = [facts.constant(name) for name in node.inputs[1:] if name]
        if data is None or any(limit is None for limit in limits):
            return ()
        value = data.value
        for pick, name in zip((np.maximum, np.minimum), node.inputs[1:], strict=False):
            if name:
                value = pick(value, np.asarray(facts.constant(name)).reshape(()))
        return (Known.of(value, data.mask, facts.network.tensors[node.outputs[0]].dtype),)


class Dropout(Rule):
    """Inference only: nothing is dropped."""

    def link(self, node: Node, axes: AxisMap) -> None:
        """Tie what can only leave together."""
        training = axes.network.value(node.input(2)) if node.input(2) else np.zeros(1)
        if training is None or training.any():
            super().link(node, axes)
            return
        for result in node.outputs:
            if result:
                for axis in range(len(axes.network.shape(result))):
                    axes.same(node.inputs[0], axis, result, axis, str(node))

    def known(self, node: Node, facts: Facts) -> Sequence[Known | None]:
        """What goes in."""
        training = facts.constant(node.input(2)) if node.input(2) else np.zeros(1)
        return () if training is None or training.any() else (facts[node.inputs[0]],)


def _relu(_: Node, x: Array) -> Array:
    return np.maximum(x, 0)


def _leaky(node: Node, x: Array) -> Array:
    return np.where(x < 0, node.real("alpha", 0.01) * x, x)


def _sigmoid(_: Node, x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x.astype(np.float64))))


def _hard_sigmoid(node: Node, x: Array) -> Array:
    return np.clip(node.real("alpha", 0.2) * x + node.real("beta", 0.5), 0, 1)


def _hard_swish(_: Node, x: Array) -> Array:
    return np.asarray(x * np.clip(x / 6 + 0.5, 0, 1))


def _elu(node: Node, x: Array) -> Array:
    return np.where(x < 0, node.real("alpha", 1.0) * np.expm1(np.minimum(x, 0)), x)


def _selu(node: Node, x: Array) -> Array:
    alpha = node.real("alpha", 1.67326319217681884765625)
    gamma = node.real("gamma", 1.05070102214813232421875)
    return np.asarray(gamma * np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x))


def _gelu(node: Node, x: Array) -> Array:
    if node.text("approximate", "none") == "tanh":
        return np.asarray(0.5 * x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1 + _erf(node, x / sqrt(2))))


def _erf(_: Node, x: Array) -> Array:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x))


def _softplus(_: Node, x: Array) -> Array:
    return np.logaddexp(0, x.astype(np.float64))


def _divide(_: Node, x: Array, y: Array) -> Array:
    if x.dtype.kind == "f":
        return np.asarray(x / y)
    return np.asarray(np.trunc(x / np.where(y == 0, 1, y)))


def _plain(compute: Callable[..., Any]) -> ElementWise:
    return ElementWise(lambda _node, *operands: compute(*operands))


RULES: Rules = {
    "Relu": ElementWise(_relu),
    "LeakyRelu": ElementWise(_leaky),
    "PRelu": ElementWise(lambda _, x, slope: np.where(x < 0, x * slope, x)),
    "Sigmoid": ElementWise(_sigmoid),
    "HardSigmoid": ElementWise(_hard_sigmoid),
    "HardSwish": ElementWise(_hard_swish),
    "Elu": ElementWise(_elu),
    "Selu": ElementWise(_selu),
    "Gelu": ElementWise(_gelu),
    "Erf": ElementWise(_erf),
    "Softplus": ElementWise(_softplus),
    "Softsign": _plain(lambda x: x / (1 + np.abs(x))),
    "Mish": ElementWise(lambda node, x: x * np.tanh(_softplus(node, x))),
    "Swish": ElementWise(lambda node, x: x * _sigmoid(node, node.real("alpha", 1.0) * x)),
    "ThresholdedRelu": ElementWise(lambda node, x: np.where(x > node.real("alpha", 1.0), x, 0)),
    "Tanh": _plain(np.tanh),
    "Exp": _plain(np.exp),
    "Log": _plain(np.log),
    "Sqrt": _plain(np.sqrt),
    "Abs": _plain(np.abs),
    "Neg": _plain(np.negative),
    "Reciprocal": _plain(np.reciprocal),
    "Floor": _plain(np.floor),
    "Ceil": _plain(np.ceil),
    "Round": _plain(np.rint),
    "Sign": _plain(np.sign),
    "Sin": ElementWise(),
    "Cos": ElementWise(),
    "Not": ElementWise(),
    "Identity": _plain(lambda x: x),
    "Cast": _plain(lambda x: x),
    "Clip": Clip(),
    "Dropout": Dropout(),
    "Add": _plain(np.add),
    "Sub": _plain(np.subtract),
    "Mul": ElementWise(lambda _, x, y: np.multiply(x, y), absorbing=True),
    "Div": ElementWise(_divide),
    "Pow": ElementWise(),
    "Mod": ElementWise(),
    "Max": _plain(lambda *operands: np.asarray(np.maximum.reduce(np.broadcast_arrays(*operands)))),
    "Min": _plain(lambda *operands: np.asarray(np.minimum.reduce(np.broadcast_arrays(*operands)))),
    "Sum": _plain(lambda *operands: np.asarray(np.add.reduce(np.broadcast_arrays(*operands)))),
    "Mean": ElementWise(),
    "Where": _plain(np.where),
    "Equal": ElementWise(),
    "Greater": ElementWise(),
    "GreaterOrEqual": ElementWise(),
    "Less": ElementWise(),
    "LessOrEqual": ElementWise(),
    "And": ElementWise(),
    "Or": ElementWise(),
    "Xor": ElementWise(),
    "IsNaN": ElementWise(),
    "IsInf": ElementWise(),
}
