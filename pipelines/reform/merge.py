"""Functions of several modules in one, constants that they have in common being globals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.reform.network import Array, Network
from serenity_mlir.reform.sharing import SHARED_FROM_BYTES

_CONSTANT = "onnx.Constant"
_SUFFIX = "/shared"
_SIGN = {"int": "i", "uint": "i", "float": "f"}


def merged(modules: Sequence[tuple[ir.Operation, Network]]) -> ir.Operation:
    """Moves the functions of torch-onnx modules into the first of them.

    A constant of the same name and elements in more than one becomes a global that all of them load. As a
    constant, IREE would fold what is read of it, a reshaped copy say, into another constant.

    Args:
        modules: Each with the network that it was imported from, all in one context; constants have locations
            of their tensors' names. The modules are consumed.
    """
    common = _common([network for _, network in modules])
    # Functions are symbols too, and a network may call a constant and a variant alike.
    symbols = {name: f"{name}{_SUFFIX}" for name in common}
    module = modules[0][0]
    body = module.regions[0].blocks[0]
    with module.context, ir.Location.unknown():
        types = {name: _type(value) for name, value in common.items()}
        for other, _ in modules[1:]:
            body.append(other.regions[0].blocks[0].operations[0])
        for op in list(_constants(module)):
            name = op.location.name_str
            if name in common:
                _load(op, symbols[name], types[name])
        with ir.InsertionPoint.at_block_begin(body):
            for name, value in common.items():
                _global(symbols[name], value, types[name])
    module.verify()
    return module


def _common(networks: Sequence[Network]) -> dict[str, Array]:
    """The constants that are worth sharing, by name."""
    values: dict[str, Array] = {}
    count: Counter[str] = Counter()
    for network in networks:
        fixed = _folded(network)
        for name, tensor in network.tensors.items():
            value = tensor.value
            if value is None or value.nbytes < SHARED_FROM_BYTES or _word(value) is None or name in fixed:
                continue
            first = values.setdefault(name, value)
            count[name] += first is value or np.array_equal(first, value)
    return {name: value for name, value in values.items() if count[name] > 1}


def _folded(network: Network) -> set[str]:
    """Constants whose elements the compiler must see: all but the data of what computes with it."""
    seen = {"Reshape": (1,), "Slice": (1, 2, 3, 4), "Pad": (1, 2, 3), "Resize": (1, 2, 3), "Gather": (1,)}
    found: set[str] = set()
    for node in network.nodes:
        indices = seen.get(node.op, ())
        if node.op in ("QuantizeLinear", "DequantizeLinear"):
            indices = (1, 2)
        found.update(node.input(index) for index in indices)
    return found


def _word(value: Array) -> str | None:
    """MLIR's name of the element type, without a sign."""
    for kind, letter in _SIGN.items():
        if value.dtype.name.removeprefix(kind).isdecimal():
            return f"{letter}{value.dtype.itemsize * 8}"
    return None


def _type(value: Array) -> ir.Type:
    return ir.RankedTensorType.get(value.shape, ir.Type.parse(_word(value) or ""))


def _constants(module: ir.Operation) -> Iterator[ir.Operation]:
    for function in module.regions[0].blocks[0].operations:
        for item in function.regions[0].blocks[0].operations:
            op = item.operation
            if op.name == "torch.operator" and ir.StringAttr(op.attributes["name"]).value == _CONSTANT:
                yield op


def _load(op: ir.Operation, name: str, type_: ir.Type) -> None:
    """Load a global in place of a constant."""
    symbol = ir.FlatSymbolRefAttr.get(name)
    with op.location, ir.InsertionPoint(op):
        attributes = {"global": symbol, "is_immutable": ir.UnitAttr.get()}
        loaded = ir.Operation.create("util.global.load", [type_], [], attributes)
        value = ir.Operation.create("torch_c.from_builtin_tensor", [op.results[0].type], [loaded.results[0]])
    op.results[0].replace_all_uses_with(value.results[0])
    op.erase()


def _global(name: str, value: Array, type_: ir.Type) -> None:
    elements = np.asarray(value, order="C").tobytes()
    stored = ir.DenseResourceElementsAttr.get_from_buffer(memoryview(elements), name, type_)
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "type": ir.TypeAttr.get(type_),
        "initial_value": stored,
    }
    ir.Operation.create("util.global", [], [], attributes, loc=ir.Location.name(name))
