"""What is known of tensors before the network runs: constants, and channels that always hold one value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from serenity_mlir.reform.network import Array, Network


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Elements of a tensor that are the same in every run.

    Attributes:
        value: The elements, of the tensor's rank; size 1 along axes where all are alike.
        mask: Which of them are known, of the shape of `value`; the others' values mean nothing.
    """

    value: Array
    mask: npt.NDArray[np.bool_]

    @classmethod
    def all(cls, value: Array) -> Known:
        """A tensor of which every element is known."""
        return cls(value, np.ones(value.shape, np.bool_))

    @classmethod
    def of(cls, value: Array, mask: npt.NDArray[np.bool_], dtype: str) -> Known | None:
        """Elements in the type of their tensor; None where none is known.

        What is not finite, or does not fit the type, is not known.
        """
        value, mask = np.broadcast_arrays(np.asarray(value), mask)
        with np.errstate(all="ignore"):
            if value.dtype.kind in "fV":
                mask = mask & np.isfinite(value.astype(np.float64))
            if np.dtype(dtype).kind in "iu" and value.dtype.kind == "f":
                limits = np.iinfo(dtype)
                mask = mask & (value >= limits.min) & (value <= limits.max)
            value = np.where(mask, value, 0).astype(dtype)
        return cls(value, mask) if mask.any() else None

    def along(self, axis: int, size: int) -> tuple[Array, npt.NDArray[np.bool_]]:
        """The value at each position along an axis, and whether it is one known value everywhere else."""
        value = np.moveaxis(self.value, axis, 0).reshape(self.value.shape[axis], -1)
        mask = np.moveaxis(self.mask, axis, 0).reshape(self.value.shape[axis], -1)
        alike = mask.all(axis=1) & (value == value[:, :1]).all(axis=1)
        return np.broadcast_to(value[:, 0], size), np.broadcast_to(alike, size)


class Facts:
    """What is known of every tensor, filled in by the rules in topological order."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._found: dict[str, Known | None] = {}

    def __getitem__(self, name: str) -> Known | None:
        """What is known of a tensor."""
        if name not in self._found:
            value = self.network.value(name)
            self._found[name] = None if value is None else Known.all(value)
        return self._found[name]

    def __setitem__(self, name: str, known: Known | None) -> None:
        self._found[name] = known

    def constant(self, name: str) -> Array | None:
        """The elements of a tensor that is known as a whole; None for "" and for any other."""
        known = self[name] if name else None
        shape = self.network.shape(name) if name else ()
        if known is None or not known.mask.all() or None in shape:
            return None
        return np.broadcast_to(known.value, [size for size in shape if size is not None])

    def zeros_along(self, name: str, axis: int, size: int, zero: float) -> npt.NDArray[np.bool_]:
        """For each position along an axis, whether every element there is known to be `zero`."""
        known = self[name]
        if known is None:
            return np.zeros(size, np.bool_)
        value, alike = known.along(axis, size)
        return np.asarray(alike & (value == zero))

    def aligned(self, names: tuple[str, ...], rank: int) -> list[Known]:
        """Operands of an op that broadcasts, each of the rank of the result; unknown ones all masked out."""
        found = []
        for name in names:
            known = self[name]
            if known is None:
                dtype = self.network.tensors[name].dtype
                found.append(Known(np.zeros((1,) * rank, dtype), np.zeros((1,) * rank, np.bool_)))
            else:
                lead = (1,) * (rank - known.value.ndim)
                found.append(
                    Known(
                        known.value.reshape(lead + known.value.shape),
                        known.mask.reshape(lead + known.mask.shape),
                    )
                )
        return found


def all_known(operands: list[Known]) -> npt.NDArray[np.bool_]:
    """Where every one of some aligned operands is known."""
    masks = np.broadcast_arrays(*(item.mask for item in operands))
    return np.asarray(np.logical_and.reduce(masks), np.bool_)
