"""Ops on single elements, and of two or more operands with broadcast."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import inf

import torch
from torch.nn import functional

from serenity_mlir.pipelines.reform.train.operators.signature import Call, Operator

_DTYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 11: torch.float64}


def _unary(function: Callable[[torch.Tensor], torch.Tensor]) -> Operator:
    return lambda call: function(call.operand(0))


def _binary(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Operator:
    return lambda call: function(call.operand(0), call.operand(1))


def _variadic(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Operator:
    return lambda call: reduce(function, (call.operand(index) for index in range(len(call.operands))))


def clip(call: Call) -> torch.Tensor:
    """Clip: bounds are operands, or attributes before opset 11."""
    low, high = call.optional(1), call.optional(2)
    x = call.operand(0)
    x = torch.maximum(x, torch.tensor(call.number("min", -inf)) if low is None else low)
    return torch.minimum(x, torch.tensor(call.number("max", inf)) if high is None else high)


def div(call: Call) -> torch.Tensor:
    """Div: of integers truncates."""
    x, y = call.operand(0), call.operand(1)
    return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


def hard_sigmoid(call: Call) -> torch.Tensor:
    """HardSigmoid: max(0, min(1, alpha x + beta))."""
    return (call.operand(0) * call.number("alpha", 0.2) + call.number("beta", 0.5)).clamp(0.0, 1.0)


def prelu(call: Call) -> torch.Tensor:
    """PRelu: the slope broadcasts as numpy's operands do."""
    x = call.operand(0)
    return torch.where(x < 0, x * call.operand(1), x)


def gelu(call: Call) -> torch.Tensor:
    """Gelu, exact or by tanh."""
    return functional.gelu(call.operand(0), approximate=call.text("approximate", "none"))


def elu(call: Call) -> torch.Tensor:
    """Elu: alpha (exp(x) - 1) below zero."""
    return functional.elu(call.operand(0), alpha=call.number("alpha", 1.0))


def cast(call: Call) -> torch.Tensor:
    """Cast to the types that torch differentiates, and the integers that shapes are computed in."""
    dtype = _DTYPES.get(call.integer("to", 0))
    if dtype is None:
        raise call.refusal(f"goes to type {call.integer('to', 0)} of ONNX")
    return call.operand(0).to(dtype)


def where(call: Call) -> torch.Tensor:
    """Where: the second operand where the first is true, else the third."""
    return torch.where(call.operand(0).bool(), call.operand(1), call.operand(2))


OPERATORS: dict[str, Operator] = {
    "Abs": _unary(torch.abs),
    "Add": _binary(torch.add),
    "Cast": cast,
    "Clip": clip,
    "Div": div,
    "Dropout": _unary(lambda x: x),
    "Elu": elu,
    "Erf": _unary(torch.erf),
    "Exp": _unary(torch.exp),
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": _unary(lambda x: x * (x / 6 + 0.5).clamp(0.0, 1.0)),
    "Identity": _unary(lambda x: x),
    "LeakyRelu": lambda call: functional.leaky_relu(call.operand(0), call.number("alpha", 0.01)),
    "Log": _unary(torch.log),
    "Max": _variadic(torch.maximum),
    "Min": _variadic(torch.minimum),
    "Mish": _unary(functional.mish),
    "Mul": _binary(torch.mul),
    "Neg": _unary(torch.neg),
    "PRelu": prelu,
    "Pow": _binary(torch.pow),
    "Reciprocal": _unary(torch.reciprocal),
    "Relu": _unary(torch.relu),
    "Sigmoid": _unary(torch.sigmoid),
    "Softplus": _unary(functional.softplus),
    "Softsign": _unary(functional.softsign),
    "Sqrt": _unary(torch.sqrt),
    "Sub": _binary(torch.sub),
    "Sum": _variadic(torch.add),
    "Tanh": _unary(torch.tanh),
    "Where": where,
}
