"""How many bytes a tensor value holds, read off its type."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from serenity_mlir.dialect_passes.mlir import ir

_TORCH = re.compile(r"!torch\.v?tensor<\[(?P<dims>[^\]]*)\],(?P<dtype>.+)>")
_TORCH_BITS = {"!torch.qint8": 8, "!torch.quint8": 8, "!torch.qint16": 16, "!torch.qint32": 32}
_QUANTISED = re.compile(r"!quant\.[a-z]+<[iu](?P<bits>\d+)")


@lru_cache(maxsize=4096)
def tensor_bytes(type_: ir.Type) -> int | None:
    """Bytes that a value of `type_` holds; 0 where it holds no tensor.

    Elements count their bit width and are packed, but for i1, which IREE stores as bytes,
    and index, which counts 8 bytes. None stands for no constant size: a dynamic dimension, no
    rank, an encoding (which may pad), an element type of unknown width, a list of tensors.
    """
    if isinstance(type_, ir.RankedTensorType):
        if not type_.has_static_shape or type_.encoding is not None:
            return None
        return _packed(type_.shape, _element_bits(type_.element_type))
    text = str(type_)
    torch = _TORCH.fullmatch(text)
    if torch:
        return _torch_bytes(torch["dims"], torch["dtype"], type_.context)
    return None if "tensor" in text else 0


def _torch_bytes(dims: str, dtype: str, context: ir.Context) -> int | None:
    if "?" in dims or dtype == "unk":
        return None
    bits = _TORCH_BITS.get(dtype)
    if bits is None:
        try:
            bits = _element_bits(ir.Type.parse(dtype, context))
        except ir.MLIRError:  # a sparse layout after the element type
            return None
    return _packed([int(dim) for dim in dims.split(",") if dim], bits)


def _packed(shape: list[int], bits: int | None) -> int | None:
    return None if bits is None else math.ceil(math.prod(shape) * bits / 8)


def _element_bits(element: ir.Type) -> int | None:
    if isinstance(element, ir.IntegerType | ir.FloatType):
        return 8 if element.width == 1 else int(element.width)
    if isinstance(element, ir.IndexType):
        return 64
    if isinstance(element, ir.ComplexType):
        part = _element_bits(element.element_type)
        return None if part is None else 2 * part
    quantised = _QUANTISED.match(str(element))
    return int(quantised["bits"]) if quantised else None
