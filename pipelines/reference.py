"""What an ONNX model computes, by somebody else's implementation."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.source import SourceModel

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = list[npt.NDArray[Any]]

_ONNXRUNTIME = "onnxruntime"
_ONNX = "onnx.reference"
# onnx.reference lacks old operators (DequantizeLinear) or has them wrong (BatchNormalization of
# opset 9); converted to this opset, all of ../shared/models agree with onnxruntime.
_EVALUATED_OPSET = 21


def reference_name() -> str:
    """The implementation that `run_reference` uses: onnxruntime where it is installed."""
    return _ONNXRUNTIME if find_spec("onnxruntime") else _ONNX


def run_reference(source: SourceModel, inputs: dict[str, npt.NDArray[Any]]) -> Arrays:
    """The outputs of the model's file for `inputs`, by name.

    Raises:
        SerenityError: onnxruntime cannot run the model, or onnx's own evaluator where that is not installed.
    """
    if reference_name() == _ONNXRUNTIME:
        return _run_onnxruntime(source, inputs)
    return _run_onnx(source, inputs)


def _run_onnxruntime(source: SourceModel, inputs: dict[str, npt.NDArray[Any]]) -> Arrays:
    """The outputs of onnxruntime, graph optimisations off."""
    import onnxruntime  # noqa: PLC0415  (an optional dependency)

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4  # what is wrong comes in the exception, too
    try:
        session = onnxruntime.InferenceSession(str(source.path), options, providers=["CPUExecutionProvider"])
        return list(session.run(None, inputs))
    except Exception as error:  # onnxruntime's own exceptions have no other base
        raise SerenityError(
            f"onnxruntime cannot run this model: {' '.join(str(error).split())}",
            file=str(source.path),
            hint="correct the model, or leave out --verify",
        ) from error


def _run_onnx(source: SourceModel, inputs: dict[str, npt.NDArray[Any]]) -> Arrays:
    import onnx  # noqa: PLC0415  (heavy, as are the next two)
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415
    from onnx.version_converter import convert_version  # noqa: PLC0415

    try:
        model = onnx.load(source.path)
        versions = [item.version for item in model.opset_import if item.domain in ("", "ai.onnx")]
        if max(versions, default=1) < _EVALUATED_OPSET:
            model = convert_version(model, _EVALUATED_OPSET)
        outputs = ReferenceEvaluator(model).run(None, inputs)
    except Exception as error:
        raise SerenityError(
            f"onnx's reference evaluator cannot run this model: {' '.join(str(error).split())}",
            file=str(source.path),
            hint="pip install onnxruntime: verification uses it where it is installed",
        ) from error
    return [np.asarray(item) for item in outputs]
