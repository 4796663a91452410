"""Opset upgrade: IREE takes old operators only in their newer spelling."""

from __future__ import annotations

import onnx
from onnx import version_converter

from .clean_graph import opset_of
from .source import ImportNote

TARGET_OPSET = 21
"""See docs/decisions for what was measured."""

_OLDEST_TARGET = 15
"""BatchNormalization of an earlier opset, and MaxPool of one before 12, do not legalise."""


def upgrade_opset(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[ImportNote]]:
    """Converts a model to the opset that IREE is known to take, if it is older.

    Args:
        model: With large weights held, functions inlined, in topological order.

    Returns:
        The converted model, or the same one where it is new enough; and a note wherever the converter failed,
        which says what was done instead: a lower target, or the model as it is.
    """
    opset = opset_of(model)
    failures: list[str] = []
    for target in range(TARGET_OPSET, max(opset, _OLDEST_TARGET - 1), -1):
        try:
            converted = version_converter.convert_version(model, target)
        except (RuntimeError, ValueError, version_converter.ConvertError) as error:
            failures.append(" ".join(str(error).split()))
            continue
        return converted, _notes(failures, f"converted from opset {opset} to {target}")
    return model, _notes(failures, f"left at opset {opset}")


def _notes(failures: list[str], instead: str) -> list[ImportNote]:
    if not failures:
        return []
    return [ImportNote(f"{instead}: ONNX's converter failed on opset {TARGET_OPSET} ({failures[0]})")]
