"""Calibration data: samples for the inputs of a model, and labels where there are any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from serenity_mlir.errors import SerenityError

if TYPE_CHECKING:
    import numpy.typing as npt

    from serenity_mlir.pipelines.importing.source import TensorIO

    Array = npt.NDArray[Any]

LABELS = "labels"
_BATCH = 64
"""Samples in one run, where the model leaves that open."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Samples along the first axis of every array.

    Attributes:
        inputs: By the model's names, in its order and types.
        labels: The class of each sample; None where the file has none.
        batch: Samples in one run of the model.
    """

    inputs: Mapping[str, Array]
    labels: npt.NDArray[np.int64] | None
    batch: int

    @property
    def count(self) -> int:
        """How many samples there are."""
        return len(next(iter(self.inputs.values())))

    def batches(self, first: int | None = None) -> Iterator[dict[str, Array]]:
        """Inputs of one run after another.

        Args:
            first: Of how many samples, rounded up to whole runs; of all by default.
        """
        for start in range(0, self.count if first is None else min(first, self.count), self.batch):
            yield {name: value[start : start + self.batch] for name, value in self.inputs.items()}


def read_calibration(path: Path, declared: Sequence[TensorIO]) -> Calibration:
    """Read an NPZ file with an array for each input of a model, and perhaps one called `labels`.

    Raises:
        SerenityError: The file is no NPZ, or its arrays do not fit the model's inputs.
    """
    arrays = _read(path)
    if not declared:
        raise SerenityError("the model has no inputs, so there is nothing to calibrate", file=str(path))
    inputs = {}
    for item in declared:
        if item.name not in arrays:
            raise SerenityError(
                f"has no array '{item.name}', which is an input of the model",
                file=str(path),
                hint=f"it holds {', '.join(arrays) or 'nothing'}: name arrays as the model names its inputs",
            )
        inputs[item.name] = _fitted(arrays[item.name], item, path)
    unknown = sorted(set(arrays) - set(inputs) - {LABELS})
    if unknown:  # labels under another name would silently make agreement out of accuracy
        raise SerenityError(
            f"array '{unknown[0]}' is no input of the model",
            file=str(path),
            hint=f"inputs are {', '.join(inputs)}; classes go by the name '{LABELS}'",
        )
    labels = _labels(arrays[LABELS], path) if LABELS in arrays and LABELS not in inputs else None
    counts = {name: len(value) for name, value in inputs.items()}
    if labels is not None:
        counts[LABELS] = len(labels)
    if len(set(counts.values())) > 1:
        raise SerenityError(f"its arrays differ in their number of samples: {counts}", file=str(path))
    count = next(iter(counts.values()))
    batch = _batch(declared, count, path)
    return Calibration(inputs, labels, batch)


def _read(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise SerenityError(
                    "is a single array", file=str(path), hint="numpy.savez(path, **arrays) writes an NPZ"
                )
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise SerenityError("there is no such file", file=str(path), hint="check the path") from error
    except (OSError, ValueError, BadZipFile, EOFError) as error:
        raise SerenityError(
            f"is no NPZ file that can be read: {error}",
            file=str(path),
            hint="numpy.savez(path, **arrays) writes one",
        ) from error


def _fitted(array: Array, declared: TensorIO, path: Path) -> Array:
    """An array in the type of an input.

    Raises:
        SerenityError: Its shape is not that of samples of it, there are none, or its numbers would not
            survive or are NaN.
    """
    where = f"array '{declared.name}'"
    shape = declared.shape
    fits = array.ndim == len(shape) > 0 and all(
        not isinstance(size, int) or size == found
        for size, found in zip(shape[1:], array.shape[1:], strict=True)
    )
    if fits and not len(array):
        raise SerenityError("it holds no samples", file=str(path), where=where)
    if not fits:
        wanted = ["samples", *("any" if size is None else size for size in shape[1:])]
        raise SerenityError(
            f"its shape is {list(array.shape)}, and the model's input wants {wanted}",
            file=str(path),
            where=where,
            hint="samples lie along the first axis, the batch dimension of the input",
        )
    dtype = np.dtype(declared.dtype)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise SerenityError(
            f"it holds {array.dtype}, and the model's input is {dtype}", file=str(path), where=where
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise SerenityError("it holds NaN", file=str(path), where=where, hint="leave such samples out")
    return array.astype(dtype, copy=False)


def _labels(array: Array, path: Path) -> npt.NDArray[np.int64]:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise SerenityError(
            f"it holds {array.dtype} of shape {list(array.shape)}, not one integer a sample",
            file=str(path),
            where=f"array '{LABELS}'",
            hint="give the index of each sample's class",
        )
    return array.astype(np.int64)


def _batch(declared: Sequence[TensorIO], count: int, path: Path) -> int:
    fixed = {item.shape[0] for item in declared if isinstance(item.shape[0], int)}
    if len(fixed) > 1:
        raise SerenityError(
            f"inputs of the model differ in their first dimension: {sorted(fixed)}",
            hint="calibration wants a batch dimension first, the same for each input",
        )
    batch = next(iter(fixed), min(_BATCH, count))
    if not batch or (count % batch and fixed):
        raise SerenityError(
            f"the number of samples, {count}, is no multiple of the {batch} that the model takes at once",
            file=str(path),
            hint="leave some out, or export the model with an open batch dimension",
        )
    return batch
