"""Reading ONNX bytes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError, Message

from serenity_mlir.errors import SerenityError

from .infer_shapes import is_unknown
from .prepare_onnx import prepare_onnx
from .source import BYTECODE_MAGIC, SourceModel, TensorIO
from .tensor_bytes import DAMAGED, dtype_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from google.protobuf.descriptor import (  # type: ignore[import-untyped]  # ships no types
        Descriptor,
        FieldDescriptor,
    )


def load_onnx(path: Path, data: bytes, digest: str) -> SourceModel:
    """Parses and prepares an ONNX model.

    Args:
        path: Its file; external data is looked for in the same folder.
        data: The bytes of that file.
        digest: Their SHA-256.

    Raises:
        SerenityError: The bytes are not ONNX or damaged, or the model cannot be compiled.
    """
    model, notes = prepare_onnx(_parse(data), path.parent)
    return SourceModel(
        path,
        digest,
        "onnx",
        proto=model,
        inputs=tuple(_describe_io(model.graph.input)),
        outputs=tuple(_describe_io(model.graph.output)),
        notes=tuple(notes),
    )


def _parse(data: bytes) -> onnx.ModelProto:
    if data.startswith(BYTECODE_MAGIC):
        raise SerenityError("holds MLIR bytecode, not ONNX", hint="rename it to .mlirbc")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise SerenityError(
            "is not an ONNX model, or a truncated one: protobuf cannot parse it",
            hint="export or download the model again",
        ) from error
    _refuse_bad_text(model)
    return model


def _refuse_bad_text(message: Message) -> None:
    """Refuses text that is not UTF-8, which protobuf hands out as bytes where everybody expects a string."""
    for field in _fields_with_text(message.DESCRIPTOR):
        if not field.is_repeated and not message.HasField(field.name):
            continue
        content = getattr(message, field.name)
        parts = content if field.is_repeated else (content,)
        if field.type == field.TYPE_MESSAGE:
            for part in parts:
                _refuse_bad_text(part)
        elif any(isinstance(part, bytes) for part in parts):
            raise SerenityError(f"a {field.name} in the model is not UTF-8 text", hint=DAMAGED)


@cache
def _fields_with_text(descriptor: Descriptor) -> tuple[FieldDescriptor, ...]:
    """Returns the fields of text and of messages: to look at the others is to copy weights."""
    return tuple(
        field for field in descriptor.fields if field.type in (field.TYPE_MESSAGE, field.TYPE_STRING)
    )


def _describe_io(values: Iterable[onnx.ValueInfoProto]) -> Iterable[TensorIO]:
    for value in values:
        tensor = value.type.tensor_type
        yield TensorIO(value.name, tuple(map(_size, tensor.shape.dim)), dtype_name(tensor.elem_type))


def _size(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if is_unknown(dim):
        return None
    return dim.dim_value if dim.HasField("dim_value") else dim.dim_param
