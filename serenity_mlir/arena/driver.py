"""Plan an arena: heuristics first, search only where they miss the live peak."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from serenity_mlir.arena.exact import Packing, minimise
from serenity_mlir.arena.first_fit import height, heuristics, sweep
from serenity_mlir.arena.problem import Problem, segments
from serenity_mlir.arena.result import ArenaPlan
from serenity_mlir.liveness import Slice

_FREE = 200_000
"""Slices, each with those that overlap it, that heuristics look at even if time is up: tenths of a second."""

_A_SECOND = 2_000_000
"""How many of them are listed and looked at in a second, at the least (measured: 4 million)."""

_MOST = 100_000_000
"""How many of them are listed at all: that takes a gigabyte."""


def plan(
    slices: Sequence[Slice], *, alignment: int = 64, time_limit: float = 5.0, capacity: int = 0
) -> ArenaPlan:
    """Offsets for `slices` in the smallest arena found, with the bound that is proven.

    Args:
        slices: Half-open live ranges, sizes in bytes.
        alignment: Bytes that every offset and the arena's size are multiples of.
        time_limit: Seconds after which the best plan so far is returned. One heuristic is always
            run to its end, and of small problems all are; where thousands of slices are live at
            once, the only one.
        capacity: Bytes that are small enough: nothing smaller is looked for, nor proven.

    Returns:
        The plan. It is the same on every run unless the time limit cuts the search short.

    Raises:
        ValueError: if the alignment is not positive or a size is negative.
    """
    began = time.monotonic()
    _validate(slices, alignment)
    unit = _unit(slices, alignment)
    offsets = [0] * len(slices)
    used = nodes = 0
    method = "empty"
    # Busiest first: what that part needs, the others may use too.
    parts = sorted(segments(slices, unit), key=lambda part: -part[1].peak)
    bound = parts[0][1].peak if parts else 0
    for indices, problem in parts:
        floor = max(bound, used, capacity // unit)
        name, packing = _pack(problem, floor, began + time_limit)
        if packing.height > used:
            used, method = packing.height, name
        if (
            packing.bound > floor
        ):  # else the floor may be another part's best or the capacity, which proves nothing
            bound = packing.bound
        nodes += packing.nodes
        for index, offset in zip(indices, packing.offsets, strict=True):
            offsets[index] = offset * unit
    seconds = time.monotonic() - began
    return ArenaPlan(tuple(offsets), used * unit, bound * unit, method, nodes, seconds)


def _unit(slices: Sequence[Slice], alignment: int) -> int:
    """Bytes that divide the offsets of some smallest plan: of slices that lie on others or at 0."""
    return alignment * (math.gcd(*(-(-item.size // alignment) for item in slices)) or 1)


def _validate(slices: Sequence[Slice], alignment: int) -> None:
    if alignment < 1:
        raise ValueError(f"alignment must be positive, not {alignment}")
    for index, item in enumerate(slices):
        if item.size < 0:
            raise ValueError(f"slice {index} has a negative size: {item.size}")


def _pack(problem: Problem, floor: int, deadline: float) -> tuple[str, Packing]:
    """A packing of one part, no lower than `floor` needs it, and the name of what found it."""
    best: tuple[int, str, list[int]] | None = None
    if not affordable(problem, deadline):
        offsets = sweep(problem)
        return "sweep", Packing(offsets, height(problem, offsets), floor, 0)
    for tried, (name, offsets) in enumerate(heuristics(problem), 1):
        reached = height(problem, offsets)
        if best is None or reached < best[0]:
            best = reached, name, offsets
        if best[0] <= floor:
            return name, Packing(offsets, reached, floor, 0)
        if tried * (len(problem) + problem.pairs) >= _FREE and time.monotonic() >= deadline:
            return best[1], Packing(best[2], best[0], floor, 0)
    assert best is not None  # noqa: S101
    packing = minimise(problem, best[2], floor, deadline)
    return best[1] if packing.height == best[0] else "search", packing


def affordable(problem: Problem, deadline: float) -> bool:
    """Whether time and memory suffice to look at each slice with all that overlap it, once."""
    cost = len(problem) + problem.pairs
    return cost <= min(_MOST, max(_FREE, (deadline - time.monotonic()) * _A_SECOND))
