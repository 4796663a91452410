"""Times the exact scheduler on randomly wired graphs, the hard case of the SERENITY paper.

    python benchmarks/schedule_ws.py --nodes 32 48 --seeds 20 --time-limit 10

The graphs are Watts-Strogatz graphs (4 neighbours, rewired with probability 0.75) with edges from
low to high numbers, one source and one sink, as RandWire networks have them; each op makes one
buffer of 1 byte ("unit") or 1 to 100 bytes ("random"). "saved" is the median share that file order
needs more; "gap" the largest that is left.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import networkx as nx
import numpy as np

from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import peak
from serenity_mlir.schedulers import schedule


def watts_strogatz(nodes: int, seed: int, *, unit: bool) -> MemoryGraph:
    """A randomly wired cell of `nodes` ops between a source and a sink."""
    wiring = nx.connected_watts_strogatz_graph(nodes, 4, 0.75, seed=seed)
    preds: list[set[int]] = [set() for _ in range(nodes + 2)]
    for one, two in wiring.edges():
        preds[max(one, two) + 1].add(min(one, two) + 1)
    used = set().union(*preds)
    for op in range(1, nodes + 1):
        preds[op] = preds[op] or {0}
    preds[nodes + 1] = set(range(1, nodes + 1)) - used
    sizes = [1] * (nodes + 2) if unit else np.random.default_rng(seed).integers(1, 101, nodes + 2).tolist()
    return MemoryGraph(
        tuple(Op(f"op{op}", (op, *sorted(links))) for op, links in enumerate(preds)),
        tuple(Buffer(f"b{op}", size) for op, size in enumerate(sizes)),
        tuple(tuple(sorted(links)) for links in preds),
    )


def measured(graph: MemoryGraph, seed: int, time_limit: float) -> dict[str, Any]:
    """What the report holds of one graph."""
    found = schedule(graph, time_limit=time_limit)
    figures = {
        name: getattr(found, name) for name in ("peak", "lower_bound", "gap", "states", "seconds", "method")
    }
    return {"seed": seed, "file_order": peak(graph, graph.file_order), **figures}


def row(label: str, results: Sequence[dict[str, Any]]) -> str:
    """One line of the table."""
    seconds = [result["seconds"] for result in results]
    states = [result["states"] for result in results]
    proven = sum(result["peak"] == result["lower_bound"] for result in results)
    saved = median(1 - result["peak"] / result["file_order"] for result in results)
    return (
        f"{label:>12} {proven:>4}/{len(results):<4} {median(seconds):>9.4f} {max(seconds):>9.4f}"
        f" {median(states):>10.0f} {max(states):>9} {max(r['gap'] for r in results):>8.1%} {saved:>8.1%}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[32, 48], help="ops between source and sink")
    parser.add_argument("--seeds", type=int, default=20, help="graphs of each size, seeds 0 and up")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each graph")
    parser.add_argument("--json", type=Path, default=Path("build/benchmarks/schedule_ws.json"), help="report")
    options = parser.parse_args(arguments)
    head = f"{'graphs':>12} {'proven':>9} {'median s':>9} {'worst s':>9} {'states':>10} {'most':>9}"
    print(f"{head} {'gap':>8} {'saved':>8}", file=sys.stderr)
    report: dict[str, Any] = {
        "command": sys.argv,
        "python": platform.python_version(),
        "machine": platform.platform(),
        "time_limit": options.time_limit,
        "graphs": {},
    }
    for nodes in options.nodes:
        for kind in ("unit", "random"):
            graphs = [watts_strogatz(nodes, seed, unit=kind == "unit") for seed in range(options.seeds)]
            results = [measured(graph, seed, options.time_limit) for seed, graph in enumerate(graphs)]
            print(row(f"{nodes} {kind}", results), file=sys.stderr, flush=True)
            report["graphs"][f"{nodes} {kind}"] = results
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
