"""Ops that move a window over the spatial axes of (N, C, spatial …): convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch.nn import functional

from serenity_mlir.pipelines.reform.train.operators.signature import Call, Operator

_CONV = (functional.conv1d, functional.conv2d, functional.conv3d)
_TRANSPOSED = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)
_MAX = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)
_MEAN = (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d)


def _spatial(call: Call, x: torch.Tensor) -> int:
    rank = int(x.dim()) - 2
    if not 1 <= rank <= len(_CONV):
        raise call.refusal(f"has {rank} spatial axes")
    return rank


def _pads(
    call: Call, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    """Pads before each axis, then after each (ONNX, `pads` and `auto_pad`)."""
    mode = call.text("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        return call.ints("pads") or [0] * (2 * len(sizes))
    if mode == "VALID":
        return [0] * (2 * len(sizes))
    before, after = [], []
    for size, taps, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        total = max((-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return before + after


def _padded(x: torch.Tensor, pads: Sequence[int], value: float) -> torch.Tensor:
    rank = len(pads) // 2
    flat = [amount for axis in reversed(range(rank)) for amount in (pads[axis], pads[axis + rank])]
    return functional.pad(x, flat, value=value) if any(flat) else x


def conv(call: Call) -> torch.Tensor:
    """Conv: x (N, C, …), w (M, C / group, kernel …), b (M)."""
    x, w, b = call.operand(0), call.operand(1), call.optional(2)
    rank = _spatial(call, x)
    strides, dilations = call.ints("strides") or [1] * rank, call.ints("dilations") or [1] * rank
    pads = _pads(call, x.shape[2:], w.shape[2:], strides, dilations)
    return _CONV[rank - 1](
        _padded(x, pads, 0.0), w, b, stride=strides, dilation=dilations, groups=call.integer("group", 1)
    )


def conv_transpose(call: Call) -> torch.Tensor:
    """ConvTranspose: x (N, C, …), w (C, M / group, kernel …), b (M); pads crop the result."""
    x, w, b = call.operand(0), call.operand(1), call.optional(2)
    rank = _spatial(call, x)
    if call.text("auto_pad", "NOTSET") not in ("NOTSET", "") or call.ints("output_shape"):
        raise call.refusal("gives the shape of its result instead of pads")
    strides, dilations = call.ints("strides") or [1] * rank, call.ints("dilations") or [1] * rank
    extra = call.ints("output_padding") or [0] * rank
    pads = call.ints("pads") or [0] * (2 * rank)
    group = call.integer("group", 1)
    y = _TRANSPOSED[rank - 1](x, w, None, stride=strides, dilation=dilations, groups=group)
    y = _padded(y, [0] * rank + extra, 0.0)  # rows that no input reaches
    for axis in range(rank):
        kept = y.shape[2 + axis] - pads[axis] - pads[axis + rank]
        y = y.narrow(2 + axis, pads[axis], kept)
    return y if b is None else y + b.reshape(1, -1, *[1] * rank)


def _window(call: Call, x: torch.Tensor) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Kernel, strides, dilations, pads, and what ceil_mode adds behind each axis."""
    rank = _spatial(call, x)
    kernel = call.ints("kernel_shape")
    if kernel is None:
        raise call.refusal("has no kernel_shape")
    strides, dilations = call.ints("strides") or [1] * rank, call.ints("dilations") or [1] * rank
    sizes = x.shape[2:]
    pads = _pads(call, sizes, kernel, strides, dilations)
    beyond = [0] * rank
    if call.integer("ceil_mode", 0):
        for axis in range(rank):
            length = sizes[axis] + pads[axis] + pads[axis + rank]
            reach = (kernel[axis] - 1) * dilations[axis] + 1
            count = -(-(length - reach) // strides[axis]) + 1
            if (count - 1) * strides[axis] >= sizes[axis] + pads[axis]:
                count -= 1  # a window may not begin in the padding behind
            beyond[axis] = max((count - 1) * strides[axis] + reach - length, 0)
    return kernel, strides, dilations, pads, beyond


def max_pool(call: Call) -> torch.Tensor:
    """MaxPool, its first result."""
    if call.results > 1:
        raise call.refusal("gives indices")
    x = call.operand(0)
    kernel, strides, dilations, pads, beyond = _window(call, x)
    rank = len(kernel)
    pads = [*pads[:rank], *(a + b for a, b in zip(pads[rank:], beyond, strict=True))]
    return _MAX[rank - 1](_padded(x, pads, float("-inf")), kernel, strides, dilation=dilations)


def average_pool(call: Call) -> torch.Tensor:
    """AveragePool: the sum of each window over how many of its positions count."""
    x = call.operand(0)
    kernel, strides, dilations, pads, beyond = _window(call, x)
    rank = len(kernel)
    if any(step != 1 for step in dilations):
        raise call.refusal("is dilated")
    behind = [0] * rank + beyond
    inside = torch.ones((1, 1, *x.shape[2:]), dtype=x.dtype)
    inside = _padded(inside, pads, float(call.integer("count_include_pad", 0)))
    pool, area = _MEAN[rank - 1], prod(kernel)
    total = pool(_padded(_padded(x, pads, 0.0), behind, 0.0), kernel, strides) * area
    return total / (pool(_padded(inside, behind, 0.0), kernel, strides) * area)


def global_average_pool(call: Call) -> torch.Tensor:
    """GlobalAveragePool: (N, C, …) to (N, C, 1 …)."""
    x = call.operand(0)
    return x.mean(dim=tuple(range(2, x.dim())), keepdim=True)


def global_max_pool(call: Call) -> torch.Tensor:
    """GlobalMaxPool: (N, C, …) to (N, C, 1 …)."""
    x = call.operand(0)
    return x.amax(dim=tuple(range(2, x.dim())), keepdim=True)


OPERATORS: dict[str, Operator] = {
    "AveragePool": average_pool,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
    "MaxPool": max_pool,
}
