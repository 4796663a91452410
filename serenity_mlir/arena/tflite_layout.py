"""What TensorFlow Lite's arena planner makes of slices: the baseline of the SERENITY paper.

TFLite takes tensors by falling size, of equals the one that is allocated first (then the one with the
lower number), and gives each the smallest gap between tensors that are live at some same time, at the
lowest such offset; where none is large enough, the place above all of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from serenity_mlir.arena.first_fit import height, place
from serenity_mlir.arena.problem import segments
from serenity_mlir.arena.result import ArenaPlan
from serenity_mlir.liveness import Slice

ALIGNMENT = 64
"""Bytes that TFLite aligns each tensor to."""


def tflite_layout(slices: Sequence[Slice], *, alignment: int = ALIGNMENT) -> ArenaPlan:
    """Offsets and arena by TFLite's greedy rule; the lower bound is the live peak of rounded sizes.

    Args:
        slices: Half-open live ranges, sizes in bytes, in the order of tensor numbers.
        alignment: Bytes that offsets and the arena are multiples of.
    """
    began = time.perf_counter()
    offsets = [0] * len(slices)
    used = bound = 0
    for indices, problem in segments(slices, alignment):
        order = sorted(range(len(problem)), key=lambda i: (-problem.sizes[i], problem.starts[i]))
        placed = place(problem, order, best_fit=True)
        used, bound = max(used, height(problem, placed)), max(bound, problem.peak)
        for index, offset in zip(indices, placed, strict=True):
            offsets[index] = offset * alignment
    seconds = time.perf_counter() - began
    return ArenaPlan(tuple(offsets), used * alignment, bound * alignment, "tflite", seconds=seconds)
