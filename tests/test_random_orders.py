"""Peaks of random orders against all orders there are."""

from __future__ import annotations

import sys
from itertools import permutations
from pathlib import Path

from hypothesis import given, settings

from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import peak
from serenity_mlir.random_orders import random_peaks

sys.path.append(str(Path(__file__).parent / "schedulers"))
from small_graphs import graphs


@settings(max_examples=40)
@given(graphs(5))
def test_all_peaks_occur_and_no_others(graph: MemoryGraph) -> None:
    drawn = random_peaks(graph, 600, seed=0)
    possible = {peak(graph, order) for order in permutations(graph.file_order) if graph.is_legal(order)}
    assert list(drawn) == sorted(possible)
    assert sum(drawn.values()) == 600


def test_each_ready_op_has_the_same_chance() -> None:
    # Three ops are ready at first; with the large one last the peak is 1 less.
    buffers = (Buffer("large", 9), *(Buffer(f"b{i}", 1, live_out=True) for i in range(3)))
    ops = (Op("large", (0, 1)), Op("one", (2,)), Op("two", (3,)))
    graph = MemoryGraph(ops, buffers, ((), (), ()))
    drawn = random_peaks(graph, 3000, seed=1)
    assert sorted(drawn) == [10, 11, 12]
    assert all(900 < count < 1100 for count in drawn.values())
    assert random_peaks(graph, 3000, seed=1) == drawn
    assert random_peaks(graph, 3000, seed=2) != drawn
