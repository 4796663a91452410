"""The core alone: a memory graph, its order of least peak, an arena for it, and the proof.

    python examples/schedule_a_graph.py

The graph is an Inception-like block: each branch widens its input and narrows it again, and a
concatenation reads all of them. Listed layer by layer, all wide tensors are live at once.
"""

from __future__ import annotations

import argparse

from serenity_mlir.arena import check_plan, plan
from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import live_ranges, peak
from serenity_mlir.schedulers import schedule

ALIGNMENT = 64
BRANCHES = 4
WIDE, NARROW = 64 << 10, 4 << 10


def block() -> MemoryGraph:
    """Ops in the order in which a file lists them: all that widen, all that narrow, the join."""
    buffers = [Buffer("input", NARROW, live_in=True), Buffer("output", BRANCHES * NARROW, live_out=True)]
    buffers += [Buffer(f"wide {branch}", WIDE) for branch in range(BRANCHES)]
    buffers += [Buffer(f"narrow {branch}", NARROW) for branch in range(BRANCHES)]
    wide = range(2, 2 + BRANCHES)
    narrow = range(2 + BRANCHES, 2 + 2 * BRANCHES)
    ops = [Op(f"widen {branch}", (0, wide[branch])) for branch in range(BRANCHES)]
    ops += [Op(f"narrow {branch}", (wide[branch], narrow[branch])) for branch in range(BRANCHES)]
    ops.append(Op("concatenate", (1, *narrow)))
    nothing: tuple[int, ...] = ()
    preds = [nothing] * BRANCHES + [(branch,) for branch in range(BRANCHES)]
    preds.append(tuple(range(BRANCHES, 2 * BRANCHES)))
    return MemoryGraph(tuple(ops), tuple(buffers), tuple(preds))


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    graph = block()
    print(f"file order: {peak(graph, graph.file_order):,} bytes live at the peak")
    found = schedule(graph, time_limit=2.0)
    proof = "the least of any order" if found.optimal else f"no order is below {found.lower_bound:,}"
    print(f"found:      {found.peak:,} bytes, {proof}")

    slices = live_ranges(graph, found.order)
    arena = plan(slices, alignment=ALIGNMENT, time_limit=2.0)
    check_plan(slices, arena.offsets, arena.size, alignment=ALIGNMENT)  # raises where two overlap
    print(f"arena:      {arena.size:,} bytes\n")

    for step, op in enumerate(found.order):
        print(f"{step:>2}  {graph.ops[op].name}")
    print()
    for buffer, item, offset in zip(graph.buffers, slices, arena.offsets, strict=True):
        end = offset + item.size
        print(f"{buffer.name:>9}  steps {item.start}-{item.end - 1}  bytes {offset:,}-{end - 1:,}")


if __name__ == "__main__":
    main()
