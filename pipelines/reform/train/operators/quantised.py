"""Quantised tensors as floats that hold integers: gradients pass through the rounding."""

from __future__ import annotations

import torch

from serenity_mlir.pipelines.reform.train.operators.signature import Call, Operator

_UINT8 = 2  # ONNX's type of a quantised tensor that names none


def _along(call: Call, x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Scales or zero points, shaped to broadcast: one for all, or one an index of `axis`."""
    if call.integer("block_size", 0):
        raise call.refusal("is quantised by blocks")
    if values.numel() == 1:
        return values.reshape(())
    shape = [1] * x.dim()
    shape[call.integer("axis", 1)] = -1
    return values.reshape(shape)


def _range(call: Call, zero: torch.Tensor | None) -> tuple[int, int]:
    dtype = torch.uint8 if zero is None else zero.dtype
    if zero is None and call.integer("output_dtype", 0) not in (0, _UINT8):
        raise call.refusal("names the type of its result")
    limits = torch.iinfo(dtype)
    return limits.min, limits.max


def quantize(call: Call) -> torch.Tensor:
    """QuantizeLinear: the integers as floats. Its gradient is that of the clamp, rounding being skipped."""
    x, scale, zero = call.operand(0), call.operand(1), call.optional(2)
    low, high = _range(call, zero)
    scaled = x / _along(call, x, scale)
    rounded = scaled + (torch.round(scaled) - scaled).detach()
    shifted = rounded if zero is None else rounded + _along(call, x, zero).to(x.dtype)
    return shifted.clamp(low, high)


def dequantize(call: Call) -> torch.Tensor:
    """DequantizeLinear: (x - zero point) scale."""
    x, scale, zero = call.operand(0), call.operand(1), call.optional(2)
    x = x.to(scale.dtype)
    x = x if zero is None else x - _along(call, x, zero).to(scale.dtype)
    return x * _along(call, x, scale)


OPERATORS: dict[str, Operator] = {"DequantizeLinear": dequantize, "QuantizeLinear": quantize}
