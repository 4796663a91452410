"""Matrix products and normalisations."""

from __future__ import annotations

import torch
from torch.nn import functional

from serenity_mlir.pipelines.reform.train.operators.signature import Call, Operator


def gemm(call: Call) -> torch.Tensor:
    """Gemm: alpha A' B' + beta C."""
    a, b, c = call.operand(0), call.operand(1), call.optional(2)
    a = a.transpose(0, 1) if call.integer("transA", 0) else a
    b = b.transpose(0, 1) if call.integer("transB", 0) else b
    y = call.number("alpha", 1.0) * (a @ b)
    return y if c is None else y + call.number("beta", 1.0) * c


def matmul(call: Call) -> torch.Tensor:
    """MatMul, as numpy's."""
    return torch.matmul(call.operand(0), call.operand(1))


def batch_normalization(call: Call) -> torch.Tensor:
    """BatchNormalization with the statistics of the file: an exported network is past training them."""
    if call.integer("training_mode", 0):
        raise call.refusal("is in training mode")
    x, scale, shift, mean, variance = (call.operand(index) for index in range(5))
    return functional.batch_norm(
        x, mean, variance, scale, shift, training=False, eps=call.number("epsilon", 1e-5)
    )


def instance_normalization(call: Call) -> torch.Tensor:
    """InstanceNormalization: by the statistics of each sample and channel."""
    x, scale, shift = (call.operand(index) for index in range(3))
    return functional.instance_norm(x, weight=scale, bias=shift, eps=call.number("epsilon", 1e-5))


def softmax(call: Call) -> torch.Tensor:
    """Softmax along one axis (from opset 13)."""
    return torch.softmax(call.operand(0), dim=call.integer("axis", -1))


def log_softmax(call: Call) -> torch.Tensor:
    """LogSoftmax along one axis (from opset 13)."""
    return torch.log_softmax(call.operand(0), dim=call.integer("axis", -1))


OPERATORS: dict[str, Operator] = {
    "BatchNormalization": batch_normalization,
    "Gemm": gemm,
    "InstanceNormalization": instance_normalization,
    "LogSoftmax": log_softmax,
    "MatMul": matmul,
    "Softmax": softmax,
}
