"""Plan an arena: heuristics first, search only where they miss the live peak."""

from __future__ import annotations

import time
from collections.abc import Sequence

from serenity_mlir.arena.first_fit import height, heuristics
from serenity_mlir.arena.problem import Problem, segments
from serenity_mlir.arena.result import ArenaPlan
from serenity_mlir.liveness import Slice


def plan(slices: Sequence[Slice], *, alignment: int = 64, time_limit: float = 5.0) -> ArenaPlan:
    """Offsets for `slices` in the smallest arena found, with the bound that is proven.

    Args:
        slices: Half-open live ranges, sizes in bytes.
        alignment: Bytes that every offset and the arena's size are multiples of.
        time_limit: Seconds after which the best plan so far is returned.

    Returns:
        The plan. It is the same on every run unless the time limit cuts the search short.

    Raises:
        ValueError: if the alignment is not positive or a size is negative.
    """
    began = time.monotonic()
    _validate(slices, alignment)
    offsets = [0] * len(slices)
    bound = used = 0
    method = "empty"
    parts = segments(slices, alignment)
    bound = max((problem.peak for _, problem in parts), default=0)
    for indices, problem in parts:
        name, packed = _pack(problem, bound, began + time_limit)
        if height(problem, packed) > used:
            used, method = height(problem, packed), name
        for index, offset in zip(indices, packed, strict=True):
            offsets[index] = offset * alignment
    return ArenaPlan(
        tuple(offsets), used * alignment, bound * alignment, method, seconds=time.monotonic() - began
    )


def _validate(slices: Sequence[Slice], alignment: int) -> None:
    if alignment < 1:
        raise ValueError(f"alignment must be positive, not {alignment}")
    for index, item in enumerate(slices):
        if item.size < 0:
            raise ValueError(f"slice {index} has a negative size: {item.size}")


def _pack(problem: Problem, bound: int, deadline: float) -> tuple[str, list[int]]:
    best: tuple[str, list[int]] | None = None
    for name, offsets in heuristics(problem):
        if best is None or height(problem, offsets) < height(problem, best[1]):
            best = name, offsets
        if height(problem, best[1]) <= bound or time.monotonic() > deadline:
            break
    assert best is not None  # noqa: S101
    return best
