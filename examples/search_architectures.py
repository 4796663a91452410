"""A search for architectures that fit: of many random wirings, the one with the smallest peak.

    python examples/search_architectures.py [--candidates 200] [--nodes 24] [--jobs 2 | --scheduler ADDRESS]

Candidates are cells of RandWire networks: wired as Watts-Strogatz graphs, between a source and a
sink; each node makes one feature map. What a cell costs is the peak of its best order, and that
each comes with its proof, or its gap, is what makes the comparison fair.
"""

from __future__ import annotations

import argparse

from networks import watts_strogatz

from serenity_mlir.executors import Executor, Failed, InProcess, Processes
from serenity_mlir.executors.dask import DaskCluster
from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers import schedule_many

FEATURE_MAP = 28 * 28 * 78
TIME_LIMIT = 5.0


def cell(nodes: int, seed: int) -> MemoryGraph:
    """A source for all nodes without inputs, the wiring, and a sink for all that nobody reads."""
    sink = nodes + 1
    preds: list[set[int]] = [set() for _ in range(nodes + 2)]
    for low, high in watts_strogatz(nodes, 4, 0.75, seed):
        preds[high + 1].add(low + 1)
    for node in range(1, sink):
        preds[node] = preds[node] or {0}
    preds[sink] = set(range(1, sink)) - set().union(*preds)
    return MemoryGraph(
        tuple(Op(f"node {op}", (op, *sorted(links))) for op, links in enumerate(preds)),
        tuple(Buffer(f"map {op}", FEATURE_MAP) for op in range(len(preds))),
        tuple(tuple(sorted(links)) for links in preds),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=1, help="processes of this machine")
    parser.add_argument("--scheduler", help="or the address of a Dask scheduler")
    arguments = parser.parse_args()
    executor: Executor = Processes(arguments.jobs) if arguments.jobs > 1 else InProcess()
    if arguments.scheduler:
        executor = DaskCluster(arguments.scheduler)

    graphs = [cell(arguments.nodes, seed) for seed in range(arguments.candidates)]
    peaks: dict[int, int] = {}
    proven = 0
    try:
        for seed, found in enumerate(schedule_many(graphs, executor, time_limit=TIME_LIMIT)):
            if isinstance(found, Failed):
                print(f"candidate {seed} failed: {found.error}")
                continue
            peaks[seed] = found.peak
            proven += found.optimal
    finally:
        executor.close()

    best, worst = min(peaks, key=peaks.__getitem__), max(peaks, key=peaks.__getitem__)
    print(f"{len(peaks)} candidates, {proven} of them proven optimal")
    for name, seed in (("smallest", best), ("largest", worst)):
        before = peak(graphs[seed], graphs[seed].file_order)
        print(f"{name} peak: seed {seed}, {peaks[seed]:,} bytes; {before:,} in file order")


if __name__ == "__main__":
    main()
