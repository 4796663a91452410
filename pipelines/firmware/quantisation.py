"""Scale and zero point of inputs and outputs, read off the QuantizeLinear ops next to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from onnx import numpy_helper

from serenity_mlir.pipelines.firmware.program import Entry, FirmwareProgram, Tensor
from serenity_mlir.pipelines.importing.source import SourceModel

if TYPE_CHECKING:
    import onnx


def with_quantisation(program: FirmwareProgram, source: SourceModel) -> FirmwareProgram:
    """`program` with what an ONNX model says of its inputs and outputs; MLIR says nothing."""
    if source.proto is None or len(program.entries) != 1:
        return program
    (entry,) = program.entries
    graph = source.proto.graph
    constants = {item.name: item for item in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    known: dict[str, tuple[float, int]] = {}
    for node in graph.node:
        quantised = {"DequantizeLinear": node.input[:1], "QuantizeLinear": node.output[:1]}
        for name in quantised.get(node.op_type, ()):
            found = _parameters(node, constants)
            if found is not None:
                known.setdefault(name, found)
    done = Entry(entry.name, _known(entry.inputs, known), _known(entry.outputs, known), entry.commands)
    return replace(program, entries=(done,))


def _known(tensors: tuple[Tensor, ...], known: dict[str, tuple[float, int]]) -> tuple[Tensor, ...]:
    out = []
    for item in tensors:
        scale, zero_point = known.get(item.name, (None, None))
        out.append(replace(item, scale=scale, zero_point=zero_point))
    return tuple(out)


def _parameters(node: onnx.NodeProto, constants: dict[str, onnx.TensorProto]) -> tuple[float, int] | None:
    """Of one tensor as a whole; None where each channel has its own, or where they are computed."""
    found = [constants.get(name) for name in node.input[1:3]]
    if not found or found[0] is None or (len(found) > 1 and found[1] is None):
        return None
    values = [np.ravel(numpy_helper.to_array(item)) for item in found if item is not None]
    if any(value.size != 1 for value in values):
        return None
    return float(values[0][0]), int(values[1][0]) if len(values) > 1 else 0
