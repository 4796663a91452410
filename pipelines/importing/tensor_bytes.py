"""How many bytes a stored tensor must have, and whether it has them."""

from __future__ import annotations

from math import prod

import onnx
from onnx import TensorProto, helper, numpy_helper

from serenity_mlir.errors import SerenityError

DAMAGED = "the file is damaged: export or download it again"
_NARROW = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}


def dtype_name(data_type: int) -> str:
    """Returns NumPy's name of an ONNX element type ("string" and "undefined" included).

    Raises:
        SerenityError: The number stands for no element type.
    """
    if data_type == TensorProto.STRING:
        return "string"
    if data_type == TensorProto.UNDEFINED:
        return "undefined"
    try:
        return str(helper.tensor_dtype_to_np_dtype(data_type).name)
    except (KeyError, ValueError) as error:
        raise SerenityError(f"element type {data_type} is none that ONNX has", hint=DAMAGED) from error


def packed_bits(data_type: int) -> int:
    """Returns the bits that one element takes in `raw_data` (4 for int4: two share a byte)."""
    narrow = _NARROW.get(dtype_name(data_type))
    return narrow if narrow else int(helper.tensor_dtype_to_np_dtype(data_type).itemsize) * 8


def packed_bytes(tensor: onnx.TensorProto, where: str) -> int:
    """Returns the bytes that the elements of a tensor take in `raw_data` or in an external file.

    Args:
        tensor: A tensor of any numeric or boolean element type.
        where: Words that say which tensor it is.

    Raises:
        SerenityError: Its shape or its element type is impossible, or it holds text.
    """
    name = dtype_name(tensor.data_type)
    if name in ("string", "undefined"):
        raise SerenityError(
            f"the stored tensor has element type {name}",
            where=where,
            hint="only numbers and booleans can be compiled: handle text outside of the model",
        )
    if any(size < 0 for size in tensor.dims):
        raise SerenityError(f"the stored tensor has shape {list(tensor.dims)}", where=where, hint=DAMAGED)
    return int(prod(tensor.dims) * packed_bits(tensor.data_type) + 7) // 8


def pack_inline(tensor: onnx.TensorProto, where: str) -> bytes:
    """Moves the typed values of a tensor into `raw_data`, and checks that they are as many as its shape says.

    MLIR would read past the end of a short buffer, and IREE's importer knows typed values of a few element
    types only.

    Returns:
        What is in `raw_data` now: each look at that field is another copy.

    Raises:
        SerenityError: The tensor holds more or fewer elements than its shape says.
    """
    expected = packed_bytes(tensor, where)
    if not tensor.HasField("raw_data"):
        try:
            packed = numpy_helper.from_array(numpy_helper.to_array(tensor))
        except (ValueError, TypeError, OverflowError) as error:
            raise SerenityError(
                f"the stored tensor {list(tensor.dims)} cannot be read: {error}", where=where, hint=DAMAGED
            ) from error
        for field in ("float_data", "int32_data", "int64_data", "uint64_data", "double_data"):
            tensor.ClearField(field)
        tensor.raw_data = packed.raw_data
    data = tensor.raw_data
    if len(data) != expected:
        raise SerenityError(
            f"the stored tensor {list(tensor.dims)} of {dtype_name(tensor.data_type)} needs {expected} bytes"
            f" and has {len(data)}",
            where=where,
            hint=DAMAGED,
        )
    return data
