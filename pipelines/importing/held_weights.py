"""Weights taken out of a model while ONNX's own tools work on it.

Those tools serialise the model, which protobuf caps at 2 GB, and copy it a few times. So every large tensor,
inline or external, is held aside under a key and put back at the end: the same way for models of any size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from .external_data import is_external, read_external
from .tensor_bytes import pack_inline
from .walk import all_tensors

if TYPE_CHECKING:
    from pathlib import Path

HOLD_FROM_BYTES = 4096
"""Shapes, axes and scales, whose values ONNX's tools read, are smaller than this."""

_KEY = "serenity-held"


def hold_weights(model: onnx.ModelProto, folder: Path, hold_from: int = HOLD_FROM_BYTES) -> dict[str, bytes]:
    """Takes the bytes of every large tensor out of a model, and those of external tensors from their files.

    A tensor whose bytes are held is marked as external data under a key that no file can have: ONNX's tools
    carry such a mark along, wherever the tensor goes.

    Args:
        model: Changed in place: afterwards small tensors are inline as `raw_data`, large ones are marks.
        folder: Where the model's external data files are.
        hold_from: Size in bytes from which a tensor is held.

    Returns:
        The held bytes by key.

    Raises:
        SerenityError: A tensor is damaged, or its external data is missing or outside the folder.
    """
    held: dict[str, bytes] = {}
    for where, tensor in all_tensors(model):
        if is_external(tensor):
            data = read_external(tensor, folder, where)
        else:
            data = pack_inline(tensor, where)
            if len(data) < hold_from:
                continue
        for field in ("raw_data", "external_data", "data_location"):
            tensor.ClearField(field)
        if len(data) < hold_from:
            tensor.raw_data = data
            continue
        key = f"{_KEY}/{len(held)}"
        held[key] = data
        tensor.data_location = tensor.EXTERNAL
        tensor.external_data.add(key="location", value=key)
    return held


def return_weights(model: onnx.ModelProto, held: dict[str, bytes]) -> None:
    """Puts held bytes back into the tensors that are marked for them.

    Args:
        model: Changed in place; afterwards it may be larger than what protobuf can serialise.
        held: What `hold_weights` returned.
    """
    for _, tensor in all_tensors(model):
        if is_external(tensor):
            key = tensor.external_data[0].value
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.raw_data = held[key]


def without_held(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns a copy in which held tensors are empty, for tools that would open external data files."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for _, tensor in all_tensors(copy):
        if is_external(tensor):
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.dims[:] = [0]
            tensor.raw_data = b""
    return copy
