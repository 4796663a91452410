"""Ops that move elements without computing, and reductions over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from serenity_mlir.pipelines.reform.train.operators.signature import Call, Operator


def concat(call: Call) -> torch.Tensor:
    """Concat along `axis`."""
    return torch.cat(
        [call.operand(index) for index in range(len(call.operands))], dim=call.integer("axis", 0)
    )


def split(call: Call) -> tuple[torch.Tensor, ...]:
    """Split: into the sizes given, or evenly with a smaller last part."""
    x, axis = call.operand(0), call.integer("axis", 0)
    sizes = call.ints("split", 1)
    if sizes is None:
        each = -(-x.shape[axis] // call.results)
        sizes = [each] * (call.results - 1) + [x.shape[axis] - each * (call.results - 1)]
    return tuple(torch.split(x, sizes, dim=axis))


def slice_(call: Call) -> torch.Tensor:
    """Slice: steps may be negative, which torch's own slices are not."""
    x = call.operand(0)
    starts, ends = call.ints("starts", 1), call.ints("ends", 2)
    if starts is None or ends is None:
        raise call.refusal("has no starts or ends")
    axes = call.ints("axes", 3) or list(range(len(starts)))
    steps = call.ints("steps", 4) or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        chosen = list(range(x.shape[axis]))[start:end:step]  # clamps bounds as ONNX does
        x = x.index_select(axis, torch.tensor(chosen, dtype=torch.int64))
    return x


def flatten(call: Call) -> torch.Tensor:
    """Flatten to two axes at `axis`."""
    x, axis = call.operand(0), call.integer("axis", 1)
    rows = int(np.prod(x.shape[: axis if axis >= 0 else x.dim() + axis], dtype=np.int64))
    return x.reshape(rows, -1)


def reshape(call: Call) -> torch.Tensor:
    """Reshape: 0 keeps a size unless `allowzero`."""
    x, shape = call.operand(0), call.ints("shape", 1)
    if shape is None:
        raise call.refusal("has no shape")
    if not call.integer("allowzero", 0):
        shape = [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
    return x.reshape(shape)


def transpose(call: Call) -> torch.Tensor:
    """Transpose: axes reversed unless `perm` says otherwise."""
    x = call.operand(0)
    return x.permute(call.ints("perm") or list(reversed(range(x.dim()))))


def squeeze(call: Call) -> torch.Tensor:
    """Squeeze the axes given, or all of size 1."""
    x, axes = call.operand(0), call.ints("axes", 1)
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


def unsqueeze(call: Call) -> torch.Tensor:
    """Unsqueeze: axes are those of the result."""
    x, axes = call.operand(0), call.ints("axes", 1) or []
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


def pad(call: Call) -> torch.Tensor:
    """Pad by a constant, the edge or a reflection; negative pads crop."""
    x, pads, value = call.operand(0), call.ints("pads", 1), call.optional(2)
    if pads is None:
        raise call.refusal("has no pads")
    axes = call.ints("axes", 3) or list(range(x.dim()))
    mode = call.text("mode", "constant")
    if mode == "constant":
        flat = [0] * (2 * x.dim())
        for index, axis in enumerate(axes):
            place = 2 * (x.dim() - 1 - axis % x.dim())
            flat[place : place + 2] = pads[index], pads[index + len(axes)]
        return functional.pad(x, flat, value=call.number("value", 0.0) if value is None else value.item())
    if mode not in ("edge", "reflect") or min(pads) < 0:
        raise call.refusal(f"has mode {mode} with pads {pads}")
    for index, axis in enumerate(axes):
        positions = np.arange(-pads[index], x.shape[axis] + pads[index + len(axes)])
        if mode == "edge":
            positions = positions.clip(0, x.shape[axis] - 1)
        else:
            positions = np.abs(positions)
            positions = np.minimum(positions, 2 * (x.shape[axis] - 1) - positions)
        x = x.index_select(axis, torch.from_numpy(positions))
    return x


def gather(call: Call) -> torch.Tensor:
    """Gather: indices along one axis, whose shape takes the axis' place."""
    x, indices, axis = call.operand(0), call.operand(1), call.integer("axis", 0)
    axis %= x.dim()
    flat = indices.reshape(-1).long() % x.shape[axis]
    return x.index_select(axis, flat).reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def expand(call: Call) -> torch.Tensor:
    """Expand: broadcast both ways."""
    x, shape = call.operand(0), call.ints("shape", 1) or []
    return x.expand(torch.broadcast_shapes(tuple(x.shape), tuple(shape)))


def resize(call: Call) -> torch.Tensor:
    """Resize (N, C, H, W) by nearest neighbours or bilinearly, as networks for images export it."""
    x, scales, sizes = call.operand(0), call.optional(2), call.ints("sizes", 3)
    mode, place = call.text("mode", "nearest"), call.text("coordinate_transformation_mode", "half_pixel")
    if sizes is None:
        if scales is None:
            raise call.refusal("has neither scales nor sizes")
        sizes = [int(size * scale) for size, scale in zip(x.shape, scales.tolist(), strict=True)]
    if call.ints("axes") is not None or x.dim() != 4 or list(x.shape[:2]) != sizes[:2]:
        raise call.refusal("is not of the last two of four axes")
    if mode == "nearest":
        whole = all(after % before == 0 for after, before in zip(sizes, x.shape, strict=True))
        rounding = call.text("nearest_mode", "round_prefer_floor")
        # For whole factors these coordinates round alike; others depend on the two modes.
        if (place, rounding) == ("asymmetric", "floor") or (whole and place == "half_pixel"):
            return functional.interpolate(x, size=sizes[2:], mode="nearest")
    if mode == "linear" and place in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        corners = place == "align_corners"
        return functional.interpolate(x, size=sizes[2:], mode="bilinear", align_corners=corners)
    raise call.refusal(f"has modes {mode} and {place}")


def _reduction(function: Callable[..., torch.Tensor]) -> Operator:
    def reduce(call: Call) -> torch.Tensor:
        x, axes = call.operand(0), call.ints("axes", 1)
        if not axes:
            if call.integer("noop_with_empty_axes", 0):
                return x
            axes = list(range(x.dim()))
        return function(x, dim=tuple(axes), keepdim=bool(call.integer("keepdims", 1)))

    return reduce


def constant(call: Call) -> torch.Tensor:
    """Constant: an array, or what one attribute names."""
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if name in call.attributes:
            value: Any = np.asarray(call.attributes[name])
            wide = np.float32 if name.startswith("value_float") else None
            return torch.from_numpy(np.array(value, dtype=wide))
    raise call.refusal("has no numbers")


def shape(call: Call) -> torch.Tensor:
    """Shape, of the axes from `start` to `end`."""
    sizes = list(call.operand(0).shape)
    end = call.attributes.get("end")
    return torch.tensor(
        sizes[call.integer("start", 0) : None if end is None else int(end)], dtype=torch.int64
    )


OPERATORS: dict[str, Operator] = {
    "Concat": concat,
    "Constant": constant,
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "Pad": pad,
    "ReduceMax": _reduction(torch.amax),
    "ReduceMean": _reduction(torch.mean),
    "ReduceMin": _reduction(torch.amin),
    "ReduceSum": _reduction(torch.sum),
    "Reshape": reshape,
    "Resize": resize,
    "Shape": shape,
    "Slice": slice_,
    "Split": split,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
