"""Reading a model file: what it is, whether it is whole, what it needs to become acceptable."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.scratch import note_input

from .source import BYTECODE_MAGIC, SourceModel

if TYPE_CHECKING:
    from pathlib import Path

    from .source import Format

_PROTOBUF_LIMIT = 2**31 - 1
_SUFFIXES: dict[str, Format] = {".onnx": "onnx", ".mlir": "mlir", ".mlirbc": "mlirbc"}


def load_model(path: Path) -> SourceModel:
    """Reads a model file and, if it is ONNX, makes it acceptable to IREE.

    Args:
        path: A file ending in .onnx, .mlir or .mlirbc.

    Returns:
        The model: a prepared ONNX proto with all weights in memory, or MLIR bytes that are not parsed yet.

    Raises:
        SerenityError: The file cannot be read, is damaged, is not what its suffix says, or holds a model that
            cannot be compiled. It names the file, and the node where there is one.
    """
    note_input(path)
    try:
        data = _read(path)
        digest = hashlib.sha256(data).hexdigest()
        declared = _SUFFIXES[path.suffix.lower()]
        if declared != "onnx":
            return SourceModel(path, digest, _mlir_format(data, declared), mlir=data)
        from .load_onnx import load_onnx  # noqa: PLC0415 - MLIR is read without loading onnx

        return load_onnx(path, data, digest)
    except SerenityError as error:
        if error.file is not None:
            raise
        raise type(error)(error.message, file=str(path), where=error.where, hint=error.hint) from error


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise SerenityError("is a directory, not a model file", hint="name the file inside it")
    if path.suffix.lower() not in _SUFFIXES:
        raise SerenityError(
            f"the suffix '{path.suffix}' is none of {', '.join(_SUFFIXES)}",
            hint="rename the file if it holds ONNX or MLIR, else convert the model to ONNX",
        )
    try:
        size = path.stat().st_size
        if path.suffix.lower() == ".onnx" and size > _PROTOBUF_LIMIT:
            raise SerenityError(
                "is larger than the 2 GB that ONNX's file format can hold",
                hint="save the weights as external data: onnx.save(model, path, save_as_external_data=True)",
            )
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise SerenityError("there is no such file", hint="check the path") from error
    except OSError as error:
        raise SerenityError(f"cannot be read: {error.strerror}") from error
    if not data:
        raise SerenityError("the file is empty", hint="export or download the model again")
    return data


def _mlir_format(data: bytes, declared: Format) -> Format:
    """Returns what an MLIR file really holds: bytecode is known by its first four bytes."""
    if data.startswith(BYTECODE_MAGIC):
        return "mlirbc"
    if declared == "mlirbc":
        raise SerenityError(
            "is not MLIR bytecode: its first bytes are wrong",
            hint="rename it to .mlir if it is MLIR text, else write it again",
        )
    if b"\0" in data or not _is_utf8(data):
        raise SerenityError(
            "is neither MLIR text nor MLIR bytecode", hint="give the file the suffix of what it holds"
        )
    if not data.strip():
        raise SerenityError("holds nothing but white space", hint="write the file again")
    return "mlir"


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
