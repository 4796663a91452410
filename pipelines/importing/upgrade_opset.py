"""Opset upgrade: IREE takes old operators only in their newer spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper, version_converter

from serenity_mlir.errors import SerenityError

from .clean_graph import STANDARD_DOMAIN, opset_of
from .source import ImportNote
from .walk import all_nodes, describe

if TYPE_CHECKING:
    import onnx

TARGET_OPSET = 21
"""The oldest opset that everything measured legalises in: docs/decisions/0007 says why."""

_OLDEST_TARGET = 15
"""BatchNormalization of an earlier opset does not legalise."""

_RESIZE_RESTATED = 11
"""From here on Resize says in attributes what it did before, and defaults to something else."""

_WRONGLY_CONVERTED = {"Hardmax": 13, "PRelu": 7}
"""Operators that ONNX's converter leaves as they are, although they mean something else since this opset."""


def upgrade_opset(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[ImportNote]]:
    """Converts a model to the opset that IREE is known to take, if it is older.

    Args:
        model: With large weights held, functions inlined, in topological order, every node named.

    Returns:
        The converted model, or the same one where it is new enough; and a note wherever the converter failed,
        which says what was done instead: a lower target, or the model as it is.

    Raises:
        SerenityError: The converter would change what an operator computes.
    """
    opset = opset_of(model)
    if opset >= TARGET_OPSET:
        return model, []
    _refuse_wrongly_converted(model, opset)
    failures: list[str] = []
    for target in range(TARGET_OPSET, max(opset, _OLDEST_TARGET - 1), -1):
        try:
            converted = version_converter.convert_version(model, target)
        except (RuntimeError, ValueError, version_converter.ConvertError) as error:
            failures.append(" ".join(str(error).split()))
            continue
        _keep_names(model, converted)
        if opset < _RESIZE_RESTATED:
            _keep_sampling(model, converted)
        return converted, _notes(failures, f"converted from opset {opset} to {target}")
    return model, _notes(failures, f"left at opset {opset}")


def _notes(failures: list[str], instead: str) -> list[ImportNote]:
    if not failures:
        return []
    return [ImportNote(f"{instead}: ONNX's converter failed on opset {TARGET_OPSET} ({failures[0]})")]


def _refuse_wrongly_converted(model: onnx.ModelProto, opset: int) -> None:
    for node in all_nodes(model):
        since = _WRONGLY_CONVERTED.get(node.op_type) if node.domain == STANDARD_DOMAIN else None
        if since is not None and opset < since:
            raise SerenityError(
                f"{node.op_type} of opset {opset} means something else than in opset {since} and later,"
                " and cannot be converted",
                where=describe(node),
                hint=f"export the model again with opset {since} or later",
            )


def _keep_names(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Gives nodes whose name the converter dropped the name of the node that made the same value before."""
    kept = {node.name for node in all_nodes(after)}
    names = {node.output[0]: node.name for node in all_nodes(before) if node.output and node.name not in kept}
    for node in all_nodes(after):
        if not node.name and node.output:
            node.name = names.get(node.output[0], "")


def _keep_sampling(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """States how Upsample and Resize used to pick samples, which the converter forgets to.

    Without it linear interpolation, and nearest neighbours at a scale that is no integer, give other values.
    """
    resized = {node.output[0] for node in all_nodes(before) if node.op_type in ("Upsample", "Resize")}
    for node in all_nodes(after):
        if node.op_type == "Resize" and node.output[0] in resized:
            node.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
            node.attribute.append(helper.make_attribute("nearest_mode", "floor"))
