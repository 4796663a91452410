"""The constants that a module holds, at any phase: the model's own, or what a compiler made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.node_names import node_names
from serenity_mlir.dialect_passes.tensors.op_kinds import child_ops
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

_VALUES = ("value", "initial_value", "torch.onnx.value")
_GLOBALS = frozenset({"ml_program.global", "util.global"})
_EXECUTABLES = frozenset({"flow.executable", "stream.executable", "hal.executable"})


@dataclass(frozen=True, slots=True)
class StoredConstant:
    """A constant tensor of several elements that differ, or may.

    Attributes:
        name: Its symbol, or else its type.
        nodes: The model's nodes that it came from.
        kind: Its element type, without sign: "i8".
        elements: How many.
        size: Bytes.
        in_code: Whether it lies in a dispatch's code, where IREE puts small ones, and not beside it as data.
    """

    name: str
    nodes: tuple[str, ...]
    kind: str
    elements: int
    size: int
    in_code: bool = False


def stored_constants(module: ir.Operation) -> list[StoredConstant]:
    """All constants of a module, those in dispatches too; what is one value throughout takes no storage."""
    return list(_stored(module, in_code=False))


def _stored(parent: ir.Operation, *, in_code: bool) -> Iterator[StoredConstant]:
    for op in child_ops(parent):
        yield from _constants(op, in_code=in_code)
        yield from _stored(op, in_code=in_code or op.name in _EXECUTABLES)


def _constants(op: ir.Operation, *, in_code: bool) -> Iterator[StoredConstant]:
    for name in _VALUES:
        if name not in op.attributes:
            continue
        value = op.attributes[name]
        kind = ir.TypeAttr(op.attributes["type"]).value if op.name in _GLOBALS else value.type
        if not isinstance(kind, ir.RankedTensorType) or (op.name in _GLOBALS and _unset(value)):
            continue
        size, elements = tensor_bytes(kind), prod(kind.shape)
        if size is None or elements < 2 or (isinstance(value, ir.DenseElementsAttr) and value.is_splat):
            continue
        symbol = ir.StringAttr(op.attributes["sym_name"]).value if op.name in _GLOBALS else str(kind)
        element = str(kind.element_type).lstrip("su")
        yield StoredConstant(symbol, tuple(node_names(op.location)), element, elements, size, in_code)


def _unset(value: ir.Attribute) -> bool:
    """Whether a value is none yet; only attributes without a class of their own are printed to tell."""
    return not isinstance(value, ir.DenseElementsAttr) and str(value).startswith("#util.uninitialized")


def total_size(constants: Sequence[StoredConstant]) -> int:
    """Bytes of all."""
    return sum(item.size for item in constants)
