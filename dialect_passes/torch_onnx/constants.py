"""Constants of torch-onnx IR as arrays, and arrays as constants."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.reform.network import Array

ELEMENTS = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "si8": "int8",
    "ui8": "uint8",
    "si16": "int16",
    "ui16": "uint16",
    "si32": "int32",
    "ui32": "uint32",
    "si64": "int64",
    "ui64": "uint64",
}
"""NumPy's name of each element type whose constants are read."""

_WORDS = {name: word for word, name in ELEMENTS.items()}
_INLINE_FROM = 32
"""Elements up to which a new constant is spelled out in the IR."""

_RESOURCE = re.compile(r"dense_resource<(?P<name>\"[^\"]*\"|[\w.$-]+)>")
_BLOB = re.compile(r"^\s*(?P<name>\"[^\"]*\"|[\w.$-]+): \"0x(?P<bytes>[0-9A-Fa-f]*)\",?$", re.MULTILINE)
_ALIGNMENT_DIGITS = 8


class Blobs:
    """The resources of a module, which the bindings do not hand out: read off its text when asked for."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module

    @cached_property
    def _texts(self) -> dict[str, str]:
        text = self._module.get_asm()
        section = text[text.rfind("{-#") :]
        return {match["name"].strip('"'): match["bytes"] for match in _BLOB.finditer(section)}

    def read(self, attribute: ir.Attribute) -> Array | None:
        """The elements of a constant; None for an element type that is not read, or what is no constant."""
        match = _RESOURCE.match(str(attribute)) if type(attribute) is ir.Attribute else None
        if match is None and not isinstance(attribute, ir.DenseElementsAttr):
            return None
        type_ = ir.RankedTensorType(attribute.type)
        name = ELEMENTS.get(str(type_.element_type))
        if name is None:
            return None
        if isinstance(attribute, ir.DenseElementsAttr):
            array = np.array(attribute)
            return array.view(name) if array.dtype.itemsize == np.dtype(name).itemsize else array.astype(name)
        digits = self._texts.get(match["name"].strip('"')) if match else None
        if digits is None:
            return None
        raw = bytes.fromhex(digits[_ALIGNMENT_DIGITS:])
        return np.frombuffer(raw, name).reshape(list(type_.shape))


def tensor_type(shape: tuple[int | None, ...], word: str, context: ir.Context) -> ir.Type:
    """The torch type of a tensor with elements of type `word` ("f32", "si8", …)."""
    dims = ",".join("?" if size is None else str(size) for size in shape)
    return ir.Type.parse(f"!torch.vtensor<[{dims}],{word}>", context)


def constant_op(name: str, array: Array, before: ir.Operation) -> ir.Value:
    """A new constant right before an op.

    Args:
        name: What its location is called.
        array: Its elements, of a type of `ELEMENTS`.
        before: Where it goes.
    """
    context = before.context
    word = _WORDS[array.dtype.name]
    location = ir.Location.name(name, context=context)
    with context, location, ir.InsertionPoint(before):
        op = ir.Operation.create(
            "torch.operator",
            results=[tensor_type(array.shape, word, context)],
            attributes={
                "name": ir.StringAttr.get("onnx.Constant"),
                "torch.onnx.value": _attribute(name, array, word),
            },
        )
    return op.results[0]


def _attribute(name: str, array: Array, word: str) -> ir.Attribute:
    element = ir.Type.parse(word)
    array = np.asarray(array, order="C")
    if array.size > _INLINE_FROM:
        type_ = ir.RankedTensorType.get(array.shape, element)
        stored = array.view(np.uint8) if array.dtype == np.bool_ else array
        return ir.DenseResourceElementsAttr.get_from_buffer(memoryview(stored.tobytes()), name, type_)
    if array.dtype == np.bool_:
        items = ", ".join(map(str, array.ravel().tolist())).lower()
        return ir.Attribute.parse(f"dense<[{items}]> : tensor<{array.size}xi1>")
    return ir.DenseElementsAttr.get(array, signless=False)
