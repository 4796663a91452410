"""What a model file turns into once it is read and made acceptable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    import onnx

BYTECODE_MAGIC = b"ML\xefR"
"""The first bytes of MLIR bytecode."""

Format = Literal["onnx", "mlir", "mlirbc"]


@dataclass(frozen=True, slots=True)
class TensorIO:
    """One input or output of a model, as the model declares it.

    Attributes:
        name: Its name in the model.
        shape: One entry a dimension: a size, the name of a symbol, or None where nothing is known.
        dtype: NumPy's name of the element type ("uint8", "float32", "bfloat16", …).
    """

    name: str
    shape: tuple[int | str | None, ...]
    dtype: str

    @property
    def unsigned(self) -> bool:
        """Whether elements are unsigned integers, which IREE's signless ABI hands back as signed ones."""
        return self.dtype.startswith("uint")


@dataclass(frozen=True, slots=True)
class ImportNote:
    """Something that was done otherwise than asked, and that the user should know.

    Attributes:
        message: What was done instead of what, and why.
        where: The node that it is about, if it is about one.
    """

    message: str
    where: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SourceModel:
    """A model as read: an acceptable ONNX proto, or MLIR bytes that are not parsed yet.

    Attributes:
        path: The file.
        sha256: Of that file's bytes (external data is not part of it).
        format: What the file really holds, whatever its suffix says.
        proto: The prepared ONNX model (None for MLIR). It shares no state with the file.
        mlir: The bytes of MLIR text or bytecode (None for ONNX).
        inputs: In the order of the entry function's arguments (empty for MLIR: its parser knows them).
        outputs: In the order of the entry function's results (empty for MLIR).
        notes: What preparation could not do as it would have liked.
    """

    path: Path
    sha256: str
    format: Format
    proto: onnx.ModelProto | None = None
    mlir: bytes | None = None
    inputs: tuple[TensorIO, ...] = ()
    outputs: tuple[TensorIO, ...] = ()
    notes: tuple[ImportNote, ...] = ()


def restore_dtype(array: npt.NDArray[Any], io: TensorIO) -> npt.NDArray[np.generic]:
    """Gives an array that came back from IREE the element type that the model declares.

    IREE's ABI has no signedness, so the runtime returns the bytes of a uint8 result as int8. Same width means
    same bytes: the result is a view, never a conversion.

    Args:
        array: What the runtime returned.
        io: The output that it belongs to.

    Returns:
        The same memory, typed as declared.

    Raises:
        ValueError: The two element types differ in more than signedness.
    """
    if array.dtype.name == io.dtype:
        return array
    declared = np.dtype(io.dtype)
    if array.dtype.kind not in "iu" or declared.kind not in "iu" or array.dtype.itemsize != declared.itemsize:
        raise ValueError(f"output {io.name!r} is declared {io.dtype} but came back as {array.dtype.name}")
    return array.view(declared)
