"""Mutations of model files: what damage, careless tools and malice do to them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]  # ships no types
from google.protobuf.message import DecodeError

_INTEGERS = (-1, 0, 1, 2, 3, 5, 7, 64, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63))
_FLOATS = (0.0, -1.0, 0.5, 1e30, -1e30, float("inf"), float("nan"))
_TEXTS = ("", "x", "é\N{SNOWMAN}", "a b\n'\"", "../" * 4, "A" * 300)
_OPS = (
    "Add",
    "Relu",
    "Conv",
    "Concat",
    "Reshape",
    "Identity",
    "MatMul",
    "Softmax",
    "MaxPool",
    "Nope",
    "Loop",
)
_TOKENS = (
    "f32",
    "i8",
    "-1",
    "0",
    "?",
    "7",
    "99999999999",
    "tensor",
    "{",
    "}",
    "(",
    ")",
    "%x",
    "",
    "linalg.x",
)

Mutation = Callable[[bytes, random.Random], bytes]


def mutate(data: bytes, *, text: bool, rng: random.Random) -> tuple[str, bytes]:
    """One mutation of a model file, at times two or three; returns its name and the bytes."""
    kinds = _OF_TEXT if text else _OF_ONNX
    names = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        mutation = rng.choice(kinds)
        try:
            data = mutation(data, rng)
        except (DecodeError, UnicodeDecodeError):
            continue  # an earlier mutation left nothing that this one can parse
        names.append(mutation.__name__)
    return "+".join(names) or "none", data


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def overwrite(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    noise = rng.choice((rng.randbytes(4), b"\0" * 16, b"\xff" * 10, b"\x7f"))
    return data[:at] + noise + data[at + len(noise) :]


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def cut_out(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice((1, 2, 16, 200)) :]


def repeat_part(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    end = at + rng.choice((1, 8, 100))
    return data[:end] + data[at:end] + data[end:]


def drop_field(data: bytes, rng: random.Random) -> bytes:
    """Clears a field somewhere in the model."""
    model, message = _message(data, rng)
    fields = [field for field, _ in message.ListFields()]
    if fields:
        message.ClearField(rng.choice(fields).name)
    return _bytes(model)


def change_list(data: bytes, rng: random.Random) -> bytes:
    """Removes, repeats or moves an element of a repeated field."""
    model, message = _message(data, rng, lambda item: any(_repeated(field) for field, _ in item.ListFields()))
    lists = [value for field, value in message.ListFields() if _repeated(field)]
    if lists:
        chosen = rng.choice(lists)
        items = list(chosen)
        at, to = rng.randrange(len(items)), rng.randrange(len(items))
        if rng.random() < 0.4:
            del items[at]
        elif rng.random() < 0.5:
            items.insert(to, items[at])
        else:
            items[at], items[to] = items[to], items[at]
        items = [_copied(item) for item in items]
        del chosen[:]
        chosen.extend(items)
    return _bytes(model)


def change_value(data: bytes, rng: random.Random) -> bytes:
    """Gives a number, a text or an enumeration another value: attributes, types, names, versions."""
    model, message = _message(data, rng, lambda item: any(_scalar(field) for field, _ in item.ListFields()))
    fields = [field for field, _ in message.ListFields() if _scalar(field)]
    if fields:
        field = rng.choice(fields)
        if _repeated(field):
            values = getattr(message, field.name)
            at = rng.randrange(len(values))
            values[at] = _other(field, values[at], rng)
        else:
            setattr(message, field.name, _other(field, getattr(message, field.name), rng))
    return _bytes(model)


def nudge(data: bytes, rng: random.Random) -> bytes:
    """Changes an attribute or a size a little, so that the graph may well stay valid."""
    model = onnx.load_from_string(data)
    kinds = (onnx.AttributeProto, onnx.TensorShapeProto.Dimension)
    items = [item for item in _messages(model) if isinstance(item, kinds)]
    if not items:
        return data
    item = rng.choice(items)
    step = rng.choice((-2, -1, 1, 1, 2, 3))
    if isinstance(item, onnx.TensorShapeProto.Dimension):
        item.dim_value += step
    elif item.ints:
        item.ints[rng.randrange(len(item.ints))] += step
    elif item.HasField("i"):
        item.i += step
    elif item.HasField("f"):
        item.f *= 1 + step
    return _bytes(model)


def change_weights(data: bytes, rng: random.Random) -> bytes:
    """Flips bits among the stored elements of a tensor."""
    model = onnx.load_from_string(data)
    tensors = [item for item in _messages(model) if isinstance(item, onnx.TensorProto) and item.raw_data]
    if tensors:
        tensor = rng.choice(tensors)
        tensor.raw_data = flip_bits(tensor.raw_data, rng)
    return _bytes(model)


def change_dimension(data: bytes, rng: random.Random) -> bytes:
    """Negative, zero, huge or just wrong: a size in a declared shape or in a stored tensor."""
    model = onnx.load_from_string(data)
    dims = [item for item in _messages(model) if isinstance(item, onnx.TensorShapeProto.Dimension)]
    tensors = [item for item in _messages(model) if isinstance(item, onnx.TensorProto) and item.dims]
    size = rng.choice((*_INTEGERS, 4, 9, 17))
    if dims and (not tensors or rng.random() < 0.6):
        rng.choice(dims).dim_value = size
    elif tensors:
        tensor = rng.choice(tensors)
        tensor.dims[rng.randrange(len(tensor.dims))] = size
    return _bytes(model)


def rewire(data: bytes, rng: random.Random) -> bytes:
    """Lets a node read, or make, another value of the graph: cycles, wrong types, two makers."""
    model = onnx.load_from_string(data)
    nodes = model.graph.node
    names = sorted({name for node in nodes for name in (*node.input, *node.output)})
    ends = [(side, at) for node in nodes for side in (node.input, node.output) for at in range(len(side))]
    if ends:
        side, at = rng.choice(ends)
        side[at] = rng.choice(names)
    return _bytes(model)


def change_operator(data: bytes, rng: random.Random) -> bytes:
    model = onnx.load_from_string(data)
    if model.graph.node:
        node = rng.choice(model.graph.node)
        others = [other.op_type for other in model.graph.node]
        node.op_type = rng.choice((*_OPS, *others))
    return _bytes(model)


def change_number(data: bytes, rng: random.Random) -> bytes:
    """Gives a number in MLIR text another value."""
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return data
    found = rng.choice(numbers)
    return data[: found.start()] + str(rng.choice(_INTEGERS)).encode() + data[found.end() :]


def change_token(data: bytes, rng: random.Random) -> bytes:
    """Puts another token of the text, or any, in the place of one."""
    tokens = list(re.finditer(rb"[\w.%@]+|[^\w\s]", data))
    if not tokens:
        return data
    found, other = rng.choice(tokens), rng.choice(tokens)[0]
    token = rng.choice((other, other, rng.choice(_TOKENS).encode()))
    return data[: found.start()] + token + data[found.end() :]


def change_lines(data: bytes, rng: random.Random) -> bytes:
    """Removes, repeats or moves a line."""
    lines = data.split(b"\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    line = lines.pop(at)
    for _ in range(rng.randrange(3)):
        lines.insert(to, line)
    return b"\n".join(lines)


_OF_ONNX: tuple[Mutation, ...] = (
    flip_bits,
    overwrite,
    truncate,
    cut_out,
    repeat_part,
    *(drop_field, change_list, change_value, change_dimension, rewire) * 2,
    *(nudge, change_weights) * 3,
    change_operator,
)
_OF_TEXT: tuple[Mutation, ...] = (
    flip_bits,
    truncate,
    cut_out,
    *(change_number, change_token, change_lines) * 3,
)


def _bytes(model: onnx.ModelProto) -> bytes:
    return bytes(model.SerializeToString())


def _messages(message: Any) -> Iterator[Any]:
    """Every message in a model, itself included."""
    yield message
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if _repeated(field) else (value,):
                yield from _messages(inner)


def _message(
    data: bytes, rng: random.Random, wanted: Callable[[Any], bool] = lambda _item: True
) -> tuple[onnx.ModelProto, Any]:
    model = onnx.load_from_string(data)
    return model, rng.choice([item for item in _messages(model) if wanted(item)] or [model])


def _repeated(field: Any) -> bool:
    return bool(field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED)


def _scalar(field: Any) -> bool:
    return bool(field.type != FieldDescriptor.TYPE_MESSAGE)


def _copied(item: Any) -> Any:
    if not hasattr(item, "CopyFrom"):
        return item
    copy = type(item)()
    copy.CopyFrom(item)
    return copy


def _other(field: Any, value: Any, rng: random.Random) -> Any:
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return rng.choice((*_FLOATS, value * 2))
    if field.type == FieldDescriptor.TYPE_STRING:
        return rng.choice((*_TEXTS, value + "_", value[:-1]))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.choice((flip_bits(value, rng), truncate(value, rng), value + b"\0"))
    if field.type == FieldDescriptor.TYPE_ENUM:
        return rng.choice([item.number for item in field.enum_type.values])
    bits = 31 if field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32) else 63
    least = 0 if field.type in (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_UINT64) else -(1 << bits)
    return max(least, min((1 << bits) - 1, rng.choice((*_INTEGERS, value + 1, value - 1, rng.randrange(25)))))
