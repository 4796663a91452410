"""Running a model many times over: onnxruntime where it is installed, else IREE, which always is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.reform.compiled import compiled_model
from serenity_mlir.pipelines.verify import load_compiled

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnx

    Array = npt.NDArray[Any]
    Engine = Callable[[Mapping[str, Array]], list[Array]]

_ONNXRUNTIME = "onnxruntime"
_IREE = "iree"


def engine_name() -> str:
    """What `engine` uses."""
    return _ONNXRUNTIME if find_spec(_ONNXRUNTIME) else _IREE


def engine(model: onnx.ModelProto, *, literal: bool = False) -> Engine:
    """A function from a model's inputs, by name, to its outputs.

    Args:
        model: What to run.
        literal: Op by op, as the model is written: what the engine would fuse may be rounded otherwise.

    Raises:
        SerenityError: The model does not run here; the function raises it, too.
    """
    return _onnxruntime(model, literal) if engine_name() == _ONNXRUNTIME else _iree(model)


def _onnxruntime(model: onnx.ModelProto, literal: bool) -> Engine:
    import onnxruntime  # noqa: PLC0415  (an optional dependency)

    levels = onnxruntime.GraphOptimizationLevel
    try:
        # Its optimisations refuse some models that it runs as they are.
        session = None if literal else _session(model, levels.ORT_ENABLE_ALL)
    except Exception:  # onnxruntime's own exceptions have no other base
        session = None
    try:
        session = session or _session(model, levels.ORT_DISABLE_ALL)
    except Exception as error:  # as above
        raise _does_not_run(_ONNXRUNTIME, error) from error

    def run(inputs: Mapping[str, Array]) -> list[Array]:
        try:
            return [np.asarray(item) for item in session.run(None, dict(inputs))]
        except Exception as error:  # as above
            raise _does_not_run(_ONNXRUNTIME, error) from error

    return run


def _session(model: onnx.ModelProto, level: Any) -> Any:
    import onnxruntime  # noqa: PLC0415  (an optional dependency)

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what is wrong comes in the exception, too
    options.graph_optimization_level = level
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _iree(model: onnx.ModelProto) -> Engine:
    as_stock = CompileOptions(
        target="host",
        rewrite=RewriteOptions(ops=False, regions=False),
        stream=StreamOptions(schedule=False, arena=False),
    )
    compiled = compiled_model(model, as_stock)
    call = load_compiled(compiled.program.vm_bytecode(), compiled.source.outputs)
    order = [item.name for item in compiled.source.inputs]

    def run(inputs: Mapping[str, Array]) -> list[Array]:
        try:
            return call([inputs[name] for name in order])
        except (RuntimeError, ValueError) as error:  # what IREE's runtime raises
            raise _does_not_run(_IREE, error) from error

    return run


def _does_not_run(name: str, error: Exception) -> SerenityError:
    return SerenityError(
        f"{name} cannot run the model: {' '.join(str(error).split())}",
        hint="check that the calibration data are what the model takes",
    )
