"""Run what was compiled beside a reference, on random inputs of fixed seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.source import SourceModel, TensorIO, restore_dtype
from serenity_mlir.pipelines.reference import reference_name, run_reference
from serenity_mlir.report import Verification

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Call = Callable[[Sequence[npt.NDArray[Any]]], list[npt.NDArray[Any]]]

_SEED = 20201104
# Where the model leaves a dimension open, any size is as good as another.
_FREE_DIMENSION = 2
FLOAT_TOLERANCE = 1e-4
# What float32 functions of range 1 (a sigmoid, say) are rounded to, in onnxruntime as well.
_ROUNDING = 1e-6


def verify(artefact: bytes, source: SourceModel) -> Verification:
    """Compare the compiled module with a reference on the original model.

    Floats agree to 1e-4 of the largest reference value of each output, or to 1e-6 where that
    is less; integers to the bit.

    Raises:
        SerenityError: There is no reference for this model, or it or the module does not run.
    """
    if source.format != "onnx":
        raise SerenityError(
            "there is no reference to verify MLIR against",
            file=str(source.path),
            hint="leave out --verify, or start from the .onnx file",
        )
    inputs = random_inputs(source.inputs)
    expected = run_reference(source, inputs)
    try:
        found = run_compiled(artefact, source.outputs, list(inputs.values()))
    except (RuntimeError, ValueError) as error:  # what IREE's runtime raises
        raise SerenityError(
            f"the compiled module does not run here: {' '.join(str(error).split())}",
            file=str(source.path),
            hint="leave out --verify where the target is another machine, else report this model",
        ) from error
    return compare(found, expected, reference_name())


def random_inputs(declared: Sequence[TensorIO]) -> dict[str, npt.NDArray[Any]]:
    """Inputs by name: floats are standard normal, integers span their type, small where wide."""
    generator = np.random.default_rng(_SEED)
    out: dict[str, npt.NDArray[Any]] = {}
    for item in declared:
        shape = [size if isinstance(size, int) else _FREE_DIMENSION for size in item.shape]
        dtype = np.dtype(item.dtype)
        if dtype.kind == "f":
            out[item.name] = generator.standard_normal(shape).astype(dtype)
        elif dtype.kind == "b":
            out[item.name] = generator.integers(0, 2, shape).astype(dtype)
        elif dtype.itemsize == 1:
            info = np.iinfo(dtype)
            out[item.name] = generator.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        else:
            out[item.name] = generator.integers(0, 2, shape).astype(dtype)
    return out


def run_compiled(
    artefact: bytes, outputs: Sequence[TensorIO], arguments: Sequence[npt.NDArray[Any]]
) -> list[npt.NDArray[Any]]:
    """The outputs of the compiled module's entry function on one CPU thread."""
    return load_compiled(artefact, outputs)(arguments)


def load_compiled(artefact: bytes, outputs: Sequence[TensorIO]) -> Call:
    """The compiled module's entry function, to be called any number of times, on one CPU thread."""
    from iree import runtime  # noqa: PLC0415  (heavy, needed here only)

    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, artefact), config)
    function = module[entry_function(module)]

    def call(arguments: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        results = function(*arguments)
        kept = results if isinstance(results, tuple | list) else [results]
        # The host view of a result is gone with the result.
        arrays = [item.to_host().copy() for item in kept]
        return [restore_dtype(array, item) for array, item in zip(arrays, outputs, strict=True)]

    return call


def entry_function(module: Any) -> str:
    """The function of a loaded module that people call: the first that is not asynchronous."""
    names: list[str] = list(module.vm_module.function_names)
    return next(name for name in names if not name.startswith("__") and "$async" not in name)


def compare(
    found: Sequence[npt.NDArray[Any]], expected: Sequence[npt.NDArray[Any]], reference: str
) -> Verification:
    """Largest differences over all outputs from `reference`'s; relative to each output's largest value."""
    max_abs = max_rel = 0.0
    passed = len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape:
            passed = False
            continue
        if one.size == 0:
            continue
        if other.dtype.kind in "fc":
            both = ~(np.isnan(one) & np.isnan(other)) & (one != other)
            difference = np.abs(one.astype(np.float64) - other.astype(np.float64))[both]
            absolute = float(difference.max(initial=0.0))
            scale = float(np.abs(other[np.isfinite(other)].astype(np.float64)).max(initial=0.0))
            relative = absolute / scale if scale else absolute
            passed &= absolute <= FLOAT_TOLERANCE * scale + _ROUNDING
        else:
            absolute = float(np.abs(one.astype(np.int64) - other.astype(np.int64)).max())
            relative = absolute
            passed &= bool(np.array_equal(one, other))
        max_abs, max_rel = max(max_abs, absolute), max(max_rel, relative)
    return Verification(reference, max_abs, max_rel, bool(passed))
