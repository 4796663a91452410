"""`serenity bench packing`: the arena planner on minimalloc's challenging instances.

An instance is a CSV file whose name ends in the capacity that it is to fit, `A.1048576.csv`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from serenity_mlir.arena import ArenaPlan, check_plan, plan
from serenity_mlir.arena.minimalloc_csv import read_csv
from serenity_mlir.arena.problem import live_peak
from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.liveness import Slice

FOLDER = Path("..", "shared", "data", "minimalloc_benchmarks", "challenging")
"""Where the instances are when the working directory is a checkout."""

PUBLISHED = {
    "A.1048576": 4.91, "B.1048576": 3.66, "C.1048576": 0.64, "D.1048576": 2.67, "E.1048576": 3.72,
    "F.1048576": 5.36, "G.1048576": 1.18, "H.1048576": 1.81, "I.1048576": 3.91, "J.1048576": 0.88,
    "K.1048576": 0.63,
}  # fmt: skip
"""Seconds until a plan fits that are published for minimalloc (C++; Moffitt, ASPLOS 2023)."""

HEADINGS = ("instance", "slices", "live peak", "fit s", "CPU s", "C++ s", "arena", "proven", "s")


@dataclass(frozen=True, slots=True)
class Fit:
    """How long a plan took that is no larger than the capacity; wall and CPU seconds."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One instance.

    Attributes:
        name: The file's, without `.csv`.
        slices: How many there are.
        peak: The most bytes live at once, which no plan can be smaller than.
        capacity: Bytes to fit.
        fits: One a repetition; None where no plan fitted within the limit.
        smallest: The plan when the goal is the smallest arena, within the same limit; of the plans
            to fit the smallest if that is smaller, with the best bound of all.
    """

    name: str
    slices: int
    peak: int
    capacity: int
    fits: tuple[Fit | None, ...]
    smallest: ArenaPlan


def instances(paths: Sequence[Path]) -> list[Path]:
    """The CSV files that `paths` name or hold; those of `FOLDER` if there are none.

    Raises:
        UsageError: if `FOLDER` is not there, or a folder has none.
        SerenityError: if a path leads nowhere.
    """
    if not paths and not FOLDER.is_dir():
        raise UsageError(f"there is no folder '{FOLDER}'", hint="name a folder of instances, or CSV files")
    found: list[Path] = []
    for path in paths or [FOLDER]:
        if not path.exists():
            raise SerenityError(
                "is not there", file=str(path), hint="name a folder of instances, or CSV files"
            )
        if path.is_dir() and not any(path.glob("*.csv")):
            raise UsageError(f"'{path}' has no CSV file", hint="name a folder of instances, or CSV files")
        found += sorted(path.glob("*.csv")) if path.is_dir() else [path]
    return found


def measure(path: Path, *, limit: float, repeats: int = 1, capacity: int | None = None) -> Measured:
    """Plan one instance at its capacity, `repeats` times, and once as small as it gets.

    Args:
        path: The CSV file.
        limit: Seconds for each plan.
        repeats: How often the time to fit is taken.
        capacity: Bytes; None takes what the file's name says.

    Raises:
        SerenityError: if the file is wrong, or no capacity is given and its name has none.
        CheckFailed: if a plan is wrong.
    """
    slices = [record.slice for record in read_csv(path)]
    if not slices:
        raise SerenityError("lists no buffers", file=str(path))
    goal = _capacity(path) if capacity is None else capacity
    tried = [_fit(slices, goal, limit) for _ in range(repeats)]
    last = plan(slices, alignment=1, time_limit=limit)
    check_plan(slices, last.offsets, last.size, alignment=1)
    plans = [last, *(found for _, found in tried)]
    best = min(plans, key=lambda found: found.size)  # the last, unless another is smaller
    bound = max(found.lower_bound for found in plans)
    smallest = replace(best, lower_bound=bound, seconds=last.seconds)
    fits = tuple(fit if found.size <= goal else None for fit, found in tried)
    starts, ends, sizes = zip(*((item.start, item.end, item.size) for item in slices), strict=True)
    peak = live_peak(starts, ends, sizes)
    return Measured(path.stem, len(slices), peak, goal, fits, smallest)


def _fit(slices: Sequence[Slice], capacity: int, limit: float) -> tuple[Fit, ArenaPlan]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = plan(slices, alignment=1, time_limit=limit, capacity=capacity)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    check_plan(slices, found.offsets, found.size, alignment=1)
    return Fit(wall, cpu), found


def _capacity(path: Path) -> int:
    last = path.stem.rpartition(".")[2]
    if not last.isdecimal():
        raise SerenityError("its name has no capacity", file=str(path), hint="give --capacity BYTES")
    return int(last)


def row(found: Measured) -> list[str]:
    """The cells below `HEADINGS`; times are medians, and "-" if any repetition found no plan that fits."""
    fits = [fit for fit in found.fits if fit is not None]
    failed = len(fits) < len(found.fits)
    published = PUBLISHED.get(found.name) if found.name.endswith(f".{found.capacity}") else None
    smallest = found.smallest
    return [
        found.name,
        str(found.slices),
        f"{found.peak:,}",
        "-" if failed else f"{statistics.median(fit.wall for fit in fits):.2f}",
        "-" if failed else f"{statistics.median(fit.cpu for fit in fits):.2f}",
        "" if published is None else f"{published:.2f}",
        f"{smallest.size:,}",
        "yes" if smallest.optimal else f"gap {smallest.size / smallest.lower_bound - 1:.1%}",
        f"{smallest.seconds:.2f}",
    ]


def explanation(limit: float, repeats: int) -> str:
    """What the columns of `HEADINGS` are, for the reader of a result file."""
    return (
        f"fit s: seconds until a plan fits the capacity, median of {repeats}, with the CPU seconds of the "
        "one thread; the capacity ends the instance's name unless `--capacity` gives another. C++ s: "
        "published for minimalloc, on its author's machine. arena: the smallest found within "
        f"{limit:g} s when that is the goal, or of those found to fit if that is smaller, whether it is "
        "proven to be the smallest or else how far above the proven bound it is, and the seconds spent when "
        "the smallest is the goal. No arena is smaller than the live peak. Every plan "
        "has passed `check_plan`, which shares no code with the planner."
    )
