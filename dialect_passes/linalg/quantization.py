"""Per-tensor affine quantisation as IREE's `input` phase states it: `iree_linalg_ext.(de)quantize_affine`.

dequantize(q) = f32(q - zero) * scale
quantize(x) = clamp(roundeven(x / scale) + zero, low, high)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from serenity_mlir.dialect_passes.linalg.tensor_ops import constant, empty
from serenity_mlir.dialect_passes.mlir import ir

DEQUANTIZE = "iree_linalg_ext.dequantize_affine"
QUANTIZE = "iree_linalg_ext.quantize_affine"
_UNSIGNED = {DEQUANTIZE: "input_unsigned", QUANTIZE: "storage_unsigned"}
_TENSOR, _SCALE, _ZERO = range(3)
# Beyond 16 bits a table of all levels is no longer cheap, and f32 no longer holds them exactly.
_WIDEST = 16


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a tensor of integers stands for one of f32, by one scale and one zero point.

    Attributes:
        scale: Positive and finite, as float32 holds it.
        zero: The integer that stands for 0.
        low: The least integer that quantising gives.
        high: The greatest.
        bits: Width of the storage.
        unsigned: Whether the storage's bits are read without a sign.
    """

    scale: float
    zero: int
    low: int
    high: int
    bits: int
    unsigned: bool

    @property
    def levels(self) -> npt.NDArray[np.int64]:
        """Every integer that the storage can hold, ascending."""
        least = 0 if self.unsigned else -(1 << (self.bits - 1))
        return np.arange(least, least + (1 << self.bits), dtype=np.int64)

    def dequantized(self, levels: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The values of integers, rounded as in float32."""
        with np.errstate(over="ignore", under="ignore"):
            product: npt.NDArray[np.float32] = (levels - self.zero).astype(np.float32) * np.float32(
                self.scale
            )
        return product

    def quantized(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """The integers of values that are not NaN, rounded as in float32."""
        with np.errstate(over="ignore"):
            steps = np.rint(values / np.float32(self.scale)) + np.float32(self.zero)
        clamped: npt.NDArray[np.int64] = np.clip(steps, self.low, self.high).astype(np.int64)
        return clamped

    @property
    def round_trips(self) -> bool:
        """Whether quantising what was dequantised gives every integer of the storage back."""
        levels = self.levels
        return bool(np.array_equal(self.quantized(self.dequantized(levels)), levels))

    @property
    def increasing(self) -> bool:
        """Whether a greater integer stands for a greater finite value throughout."""
        values = self.dequantized(self.levels)
        return bool(np.all(np.isfinite(values)) and np.all(values[1:] > values[:-1]))

    def level_of(self, value: float) -> int | None:
        """The one integer that stands for `value` to the bit; None where there is none."""
        levels = self.levels
        values = self.dequantized(levels)
        same = levels[(values == np.float32(value)) & (np.signbit(values) == np.signbit(value))]
        return int(same[0]) if len(same) == 1 else None

    def stored(self, level: int) -> int:
        """The bits of a level as a signed integer of the storage's width, which is how IR writes them."""
        return level - (1 << self.bits) if level >= 1 << (self.bits - 1) else level


def scheme_of(op: ir.Operation) -> Scheme | None:
    """The scheme of a (de)quantisation of f32 with constant scalar parameters; None for any other op."""
    if op.name not in _UNSIGNED:
        return None
    known = {"indexing_maps", "quant_min", "quant_max", _UNSIGNED[str(op.name)]}
    tensors = [ir.ShapedType(op.operands[_TENSOR].type), ir.ShapedType(op.results[0].type)]
    narrow, wide = tensors if op.name == DEQUANTIZE else reversed(tensors)
    parameters = list(op.operands)[_SCALE:-1]
    scale, zero = constant_float(parameters[0]), 0
    if len(parameters) > 1:
        zero_point = constant_integer(parameters[1])
        if zero_point is None:
            return None
        zero = zero_point
    if (
        scale is None
        or not 0 < scale < float("inf")
        or not isinstance(wide.element_type, ir.F32Type)
        or not isinstance(narrow.element_type, ir.IntegerType)
        or narrow.element_type.width > _WIDEST
        or set(op.attributes) - known
        or not _element_for_element(op)
    ):
        return None
    return Scheme(
        scale,
        zero,
        ir.IntegerAttr(op.attributes["quant_min"]).value,
        ir.IntegerAttr(op.attributes["quant_max"]).value,
        narrow.element_type.width,
        _UNSIGNED[str(op.name)] in op.attributes,
    )


def _element_for_element(op: ir.Operation) -> bool:
    maps = [ir.AffineMapAttr(item).value for item in ir.ArrayAttr(op.attributes["indexing_maps"])]
    identity = ir.AffineMap.get_identity(maps[0].n_dims, op.context)
    return bool(maps[0] == maps[-1] == identity)


def constant_float(value: ir.Value) -> float | None:
    """The number that a scalar f32 constant holds."""
    attribute = _constant(value)
    return ir.FloatAttr(attribute).value if isinstance(attribute, ir.FloatAttr) else None


def constant_integer(value: ir.Value) -> int | None:
    """The number that a scalar integer constant holds."""
    attribute = _constant(value)
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None


def _constant(value: ir.Value) -> ir.Attribute | None:
    op = producer(value)
    return op.attributes["value"] if op is not None and op.name == "arith.constant" else None


def producer(value: ir.Value) -> ir.Operation | None:
    """The op that makes a value; None for an argument of a block."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def dequantized(value: ir.Value) -> tuple[ir.Value, Scheme] | None:
    """The integers that `value` is dequantised from, and how; None where it is anything else."""
    op = producer(value)
    if op is None or op.name != DEQUANTIZE:
        return None
    scheme = scheme_of(op)
    return None if scheme is None else (op.operands[_TENSOR], scheme)


def is_static_f32(value: ir.Value) -> bool:
    """Whether a value is a ranked f32 tensor without dynamic sizes."""
    kind = value.type
    return (
        isinstance(kind, ir.RankedTensorType)
        and kind.has_static_shape
        and isinstance(kind.element_type, ir.F32Type)
    )


def narrow_type(kind: ir.Type, scheme: Scheme) -> ir.RankedTensorType:
    """A tensor type of the same shape with the scheme's storage as elements."""
    shaped = ir.RankedTensorType(kind)
    with kind.context:
        element = ir.IntegerType.get_signless(scheme.bits)
        return ir.RankedTensorType.get(shaped.shape, element, shaped.encoding, loc=ir.Location.unknown())


def dequantize(value: ir.Value, scheme: Scheme) -> ir.Value:
    """Dequantise a static tensor, at the current insertion point and location."""
    shaped = ir.RankedTensorType(value.type)
    wide = ir.RankedTensorType.get(shaped.shape, ir.F32Type.get(), shaped.encoding)
    return _convert(DEQUANTIZE, value, wide, scheme)


def quantize(value: ir.Value, scheme: Scheme) -> ir.Value:
    """Quantise a static tensor, at the current insertion point and location."""
    return _convert(QUANTIZE, value, narrow_type(value.type, scheme), scheme)


def _convert(name: str, value: ir.Value, result: ir.RankedTensorType, scheme: Scheme) -> ir.Value:
    wide = ir.IntegerType.get_signless(64)
    rank = result.rank
    identity, scalar = ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, [])
    parameters = [constant(ir.FloatAttr.get(ir.F32Type.get(), scheme.scale))]
    if scheme.zero:
        parameters.append(constant(ir.IntegerAttr.get(wide, scheme.zero)))
    maps = [identity, *[scalar] * len(parameters), identity]
    attributes: dict[str, ir.Attribute] = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(item) for item in maps]),
        "quant_min": ir.IntegerAttr.get(wide, scheme.low),
        "quant_max": ir.IntegerAttr.get(wide, scheme.high),
    }
    if scheme.unsigned:
        attributes[_UNSIGNED[name]] = ir.UnitAttr.get()
    operands = [value, *parameters, empty(result)]
    return ir.Operation.create(name, results=[result], operands=operands, attributes=attributes).results[0]


_PURE = frozenset(
    {
        "arith.constant",
        "linalg.broadcast",
        "linalg.fill",
        "linalg.transpose",
        "tensor.collapse_shape",
        "tensor.concat",
        "tensor.empty",
        "tensor.expand_shape",
        "tensor.extract_slice",
        "tensor.insert_slice",
        "tensor.pad",
        DEQUANTIZE,
        QUANTIZE,
    }
)


def users(op: ir.Operation) -> list[ir.Operation]:
    """The ops that use an op's results, one for each use."""
    return [use.owner.operation for result in op.results for use in result.uses]


def replace_op(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Put `values` in the place of an op's results, and erase it with all that only it needed."""
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    erase_dead(op)


def erase_dead(op: ir.Operation) -> None:
    """Erase an op that has no users, and what only it needed."""
    pending = [op]
    while pending:
        dead = pending.pop()
        feeding = [producer(value) for value in dead.operands]
        dead.erase()
        for item in dict.fromkeys(feeding):
            if item is not None and item.name in _PURE and item not in pending and not users(item):
                pending.append(item)
