"""Arena planning on minimalloc's challenging instances.

    python benchmarks/packing.py [--limit SECONDS] [NAMES]

For each instance: seconds until a plan fits the capacity of 1 MiB, as minimalloc is asked, and
what `plan` makes of it within the limit, where the goal is the smallest arena.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from serenity_mlir.arena import check_plan, plan
from serenity_mlir.arena.exact import minimise
from serenity_mlir.arena.first_fit import height, heuristics
from serenity_mlir.arena.minimalloc_csv import read_csv
from serenity_mlir.arena.problem import segments
from serenity_mlir.liveness import Slice

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "minimalloc_benchmarks" / "challenging"
CAPACITY = 1048576
UNIT = 1024  # divides every size in the instances
PUBLISHED = dict(
    zip("ABCDEFGHIJK", (4.91, 3.66, 0.64, 2.67, 3.72, 5.36, 1.18, 1.81, 3.91, 0.88, 0.63), strict=True)
)


def fit(slices: list[Slice], limit: float) -> float | None:
    """Seconds until a plan fits the capacity, None if none is found within `limit`."""
    began = time.monotonic()
    offsets = [0] * len(slices)
    for indices, problem in segments(slices, UNIT):
        start = min((packed for _, packed in heuristics(problem)), key=lambda packed: height(problem, packed))
        packing = minimise(problem, start, CAPACITY // UNIT, began + limit)
        for index, offset in zip(indices, packing.offsets, strict=True):
            offsets[index] = offset * UNIT
        if packing.height > CAPACITY // UNIT:
            return None
    seconds = time.monotonic() - began
    check_plan(slices, offsets, CAPACITY, alignment=UNIT)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="?", default="ABCDEFGHIJK")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each of the two columns")
    options = parser.parse_args()
    columns = f"{'fit s':>9}{'C++ s':>7}{'plan s':>9}{'bytes':>10}{'bound':>10}{'nodes':>8}"
    print(f"{'':9}{'slices':>7}{columns}  method")
    for name in options.names:
        slices = [record.slice for record in read_csv(FOLDER / f"{name}.{CAPACITY}.csv")]
        seconds = fit(slices, options.limit)
        result = plan(slices, alignment=UNIT, time_limit=options.limit)
        check_plan(slices, result.offsets, result.size, alignment=UNIT)
        print(
            f"{name:9}{len(slices):7}{'-' if seconds is None else f'{seconds:.2f}':>9}{PUBLISHED[name]:7.2f}"
            f"{result.seconds:9.2f}{result.size:10}{result.lower_bound:10}{result.nodes:8}  {result.method}",
            flush=True,
        )


if __name__ == "__main__":
    main()
