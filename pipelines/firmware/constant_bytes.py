"""The bytes of constants that the `hal` IR holds: `util.buffer.constant` and what its value nests."""

from __future__ import annotations

import re

import numpy as np

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import SerenityError

_COMPOSITE = re.compile(r"#util\.composite<\d+xi8, \[(.*)\]>", re.DOTALL)
_HEX = re.compile(r'\s*dense<"0x([0-9A-Fa-f]*)">\s*:\s*(\w+)<([^>]*)>\s*', re.DOTALL)
_RESOURCE = re.compile(r"\s*dense_resource<([^>]*)>\s*:", re.DOTALL)
_WIDTH = re.compile(r"[a-zA-Z]+(\d+)")
# What MLIR puts before the bytes of a resource: the alignment, 32 bits.
_RESOURCE_HEADER = 4


def constant_bytes(op: ir.Operation) -> bytes:
    """The bytes of a `util.buffer.constant`; the context must print on one thread.

    Raises:
        SerenityError: An element type has no whole bytes, or the value is of no kind that is known.
    """
    return _bytes_of(str(op.attributes["value"]), op)


def _bytes_of(text: str, op: ir.Operation) -> bytes:
    composite = _COMPOSITE.fullmatch(text.strip())
    if composite:
        return b"".join(_bytes_of(part, op) for part in _parts(composite[1]))
    written = _HEX.fullmatch(text)
    if written:
        return _hex_bytes(bytes.fromhex(written[1]), written[3], op)
    resource = _RESOURCE.match(text)
    if resource:
        return _resource_bytes(resource[1], op)
    attribute = ir.Attribute.parse(text.strip(), op.context)
    if isinstance(attribute, ir.StringAttr):
        return bytes(attribute.value_bytes)
    if not isinstance(attribute, ir.DenseElementsAttr):
        raise SerenityError(f"a constant is of no kind that firmware can hold: {text.strip()[:60]}")
    element = str(ir.ShapedType(attribute.type).element_type)
    _bytes_per_element(element)
    try:
        values = np.asarray(attribute)
    except TypeError as error:  # a float type that NumPy has not
        raise _refusal(element) from error
    return np.ascontiguousarray(values).tobytes()


def _hex_bytes(data: bytes, shaped: str, op: ir.Operation) -> bytes:
    *sizes, element = shaped.split("x")
    count = int(np.prod([int(size) for size in sizes], dtype=np.int64))
    width = _bytes_per_element(element)
    whole = data * count if len(data) == width else data
    if len(whole) != count * width:
        raise SerenityError(f"{op.name}: a constant {shaped} holds {len(whole)} bytes")
    return whole


def _bytes_per_element(element: str) -> int:
    found = _WIDTH.fullmatch(element)
    if found is None or int(found[1]) % 8:
        raise _refusal(element)
    return int(found[1]) // 8


def _refusal(element: str) -> SerenityError:
    return SerenityError(
        f"constants of type {element} have no firmware form",
        hint="use element types of whole bytes: i8, i16, i32, i64, f16, f32, f64",
    )


def _resource_bytes(name: str, op: ir.Operation) -> bytes:
    """Of a resource, which MLIR writes at the end of the module."""
    name = name.strip('"')
    while op.parent is not None:
        op = op.parent.operation
    found = re.search(rf'"?{re.escape(name)}"?: "0x([0-9A-Fa-f]*)"', str(op))
    if found is None:
        raise SerenityError(f"the constant '{name}' cannot be read back")
    return bytes.fromhex(found[1])[_RESOURCE_HEADER:]


def _parts(text: str) -> list[str]:
    """The elements of a list, split at its own commas."""
    parts, depth, quoted, start = [], 0, False, 0
    for index, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif character in "[<({":
            depth += 1
        elif character in "]>)}":
            depth -= 1
        elif character == "," and not depth:
            parts.append(text[start:index])
            start = index + 1
    return [part for part in (*parts, text[start:]) if part.strip()]
