"""How the scheduler fares as graphs grow: what it proves, in what time, and the gap where it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

from serenity_mlir.errors import CheckFailed
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.bench.cp_sat import cp_sat_peak
from serenity_mlir.pipelines.bench.scale_graphs import named
from serenity_mlir.schedulers import Schedule, schedule

HEADINGS = (
    "graph",
    "seed",
    "ops",
    "file order",
    "best",
    "bound",
    "gap",
    "states",
    "seconds",
    "CPU s",
    "limit",
)
SUMMARY = (
    "graphs",
    "proven",
    "median s",
    "worst s",
    "median CPU s",
    "worst CPU s",
    "most states",
    "worst gap",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One graph.

    Attributes:
        name: As `scale_graphs.named` takes it.
        seed: Of the graph.
        ops: How many it has.
        file_peak: The peak of file order, bytes.
        found: What the scheduler returned.
        cpu_seconds: Of this process: on a busy machine the wall clock counts what others do.
        limit: Seconds that it was given.
        cp_sat: The peak that CP-SAT proves; None where it does not, or was not asked.
    """

    name: str
    seed: int
    ops: int
    file_peak: int
    found: Schedule
    cpu_seconds: float
    limit: float
    cp_sat: int | None = None


def measure(name: str, seed: int, *, method: str, limit: float, cp_sat: float | None = None) -> Measured:
    """Schedules one graph, and compares with CP-SAT where that gets `cp_sat` seconds.

    Raises:
        UsageError: There is no such graph.
        SerenityError: The extra that makes the graph or checks it is not installed.
        CheckFailed: CP-SAT proves another optimum, or one outside of what was found.
    """
    graph = named(name, seed)
    began = process_time()
    found = schedule(graph, method=method, time_limit=limit)
    cpu_seconds = process_time() - began
    other = None if cp_sat is None else _agreed(name, seed, graph, found, cp_sat)
    return Measured(
        name, seed, len(graph.ops), peak(graph, graph.file_order), found, cpu_seconds, limit, other
    )


def _agreed(name: str, seed: int, graph: MemoryGraph, found: Schedule, time_limit: float) -> int | None:
    other = cp_sat_peak(graph, time_limit=time_limit)
    if other is not None and not found.lower_bound <= other <= found.peak:
        raise CheckFailed(
            f"{name}, seed {seed}: the peak is {found.lower_bound} to {found.peak}, but CP-SAT proves {other}"
        )
    return other


def rows(items: Sequence[Measured], *, cp_sat: bool) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row for each graph; with what CP-SAT proved if it was asked."""
    headings = [*HEADINGS, *(["CP-SAT"] if cp_sat else [])]
    return headings, [_row(item, cp_sat=cp_sat) for item in items]


def _row(item: Measured, *, cp_sat: bool) -> list[str]:
    found = item.found
    cells = [
        item.name,
        str(item.seed),
        *(f"{number:,}" for number in (item.ops, item.file_peak, found.peak, found.lower_bound)),
        f"{found.gap:.1%}",
        f"{found.states:,}",
        *(f"{seconds:.3f}" for seconds in (found.seconds, item.cpu_seconds)),
        f"{item.limit:g}",
    ]
    if cp_sat:
        cells.append("not proven" if item.cp_sat is None else f"{item.cp_sat:,}")
    return cells


def summary(items: Sequence[Measured], *, cp_sat: bool) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row for all graphs of a name; with how often CP-SAT proved what was found."""
    headings, rows = [*SUMMARY, *(["CP-SAT proves the same"] if cp_sat else [])], []
    for name in dict.fromkeys(item.name for item in items):
        own = [item for item in items if item.name == name]
        same = sum(item.cp_sat == item.found.peak for item in own)
        rows.append([*_summed_up(name, own), *([f"{same} of {len(own)}"] if cp_sat else [])])
    return headings, rows


def _summed_up(name: str, items: Sequence[Measured]) -> list[str]:
    walls, cpus = [item.found.seconds for item in items], [item.cpu_seconds for item in items]
    return [
        name,
        f"{sum(item.found.optimal for item in items)} of {len(items)}",
        *(f"{value:.3f}" for value in (median(walls), max(walls), median(cpus), max(cpus))),
        f"{max(item.found.states for item in items):,}",
        f"{max(item.found.gap for item in items):.1%}",
    ]
