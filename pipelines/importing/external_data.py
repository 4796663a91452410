"""External data: weights that a model keeps in files next to it.

A model file is untrusted input, so what it may point at is held narrow: regular files inside the model's own
folder, read no further than their end.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from onnx import TensorProto

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.scratch import note_data

from .tensor_bytes import DAMAGED, packed_bytes


def is_external(tensor: TensorProto) -> bool:
    """Returns whether the bytes of a tensor are in another file."""
    return tensor.HasField("data_location") and tensor.data_location == TensorProto.EXTERNAL


def read_external(tensor: TensorProto, folder: Path, where: str) -> bytes:
    """Reads the bytes of an external tensor.

    Args:
        tensor: A tensor whose `data_location` is EXTERNAL.
        folder: The folder of the model's file.
        where: Words that say which tensor it is.

    Returns:
        Exactly the bytes that its shape asks for.

    Raises:
        SerenityError: The file is missing, too short or unreadable, or lies outside the folder.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = _inside(entries.get("location", ""), folder, where)
    note_data(path)
    offset = _number(entries, "offset", where) or 0
    expected = packed_bytes(tensor, where)
    length = _number(entries, "length", where)
    if length is not None and length != expected:
        raise SerenityError(
            f"the tensor {list(tensor.dims)} needs {expected} bytes, its external data has {length}",
            where=where,
            hint=DAMAGED,
        )
    try:
        with path.open("rb") as file:
            file.seek(offset)
            # Reading a file of a few bytes must not allocate what a damaged shape asks for.
            data = file.read(expected) if offset + expected <= path.stat().st_size else b""
    except OSError as error:
        raise SerenityError(
            f"cannot read the external data file '{path}': {error.strerror}", where=where
        ) from error
    if len(data) != expected:
        raise SerenityError(
            f"the external data file '{path}' is too short: {expected} bytes from {offset} are not in it",
            where=where,
            hint="the data file is truncated or belongs to another model: fetch both files again",
        )
    return data


def _inside(location: str, folder: Path, where: str) -> Path:
    """Returns the path of a data file, once it is known to be a regular file inside the folder."""
    parts = PurePosixPath(location).parts + PureWindowsPath(location).parts
    absolute = PurePosixPath(location).is_absolute() or PureWindowsPath(location).drive != ""
    path = folder / location
    if absolute or ".." in parts or "\0" in location or not _resolves_inside(path, folder):
        raise SerenityError(
            f"the external data '{location}' points outside the model's folder",
            where=where,
            hint="put the data file into the folder of the model and save the model with a relative location",
        )
    if not location or not path.is_file():
        raise SerenityError(
            f"the external data file '{location}' is missing",
            where=where,
            hint=f"put it into '{folder}', next to the model",
        )
    return path


def _resolves_inside(path: Path, folder: Path) -> bool:
    """Returns whether a path, followed through symbolic links, ends inside the folder."""
    return path.resolve().is_relative_to(folder.resolve())


def _number(entries: dict[str, str], key: str, where: str) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise SerenityError(f"the external data's {key} is '{text}', not a number", where=where, hint=DAMAGED)
    return int(text)
