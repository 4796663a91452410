"""What a proof says of a peak, against all orders there are."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import peak
from serenity_mlir.peak_core import PeakCore
from serenity_mlir.schedulers import schedule

sys.path.append(str(Path(__file__).parent / "schedulers"))
from small_graphs import graphs


def least(graph: MemoryGraph, left_out: frozenset[int]) -> int:
    """The least peak of any order, where some buffers take no storage."""
    buffers = [
        replace(item, size=0) if index in left_out else item for index, item in enumerate(graph.buffers)
    ]
    rest = replace(graph, buffers=tuple(buffers))
    return min(peak(rest, order) for order in permutations(graph.file_order) if graph.is_legal(order))


@settings(max_examples=60)
@given(graphs(5), st.sets(st.integers(0, 7)))
def test_a_peak_stays_where_every_order_has_it(graph: MemoryGraph, left_out: set[int]) -> None:
    found = schedule(graph)
    core = PeakCore(graph, found.order, found.peak, 10.0)
    everything = frozenset(range(len(graph.buffers)))
    assert core.buffers is not None
    assert least(graph, everything - core.buffers) == found.peak
    buffers = everything & left_out
    assert core.stays_without(buffers) == (least(graph, buffers) == found.peak)


def test_few_buffers_prove_a_peak() -> None:
    ops = tuple(Op(f"op{i}", (i, i + 1)) for i in range(9))
    buffers = tuple(Buffer(f"b{i}", 100 if i in (4, 5) else 1) for i in range(10))
    graph = MemoryGraph(ops, buffers, ((), *((i,) for i in range(8))))
    core = PeakCore(graph, graph.file_order, 200, 10.0)
    assert core.buffers == frozenset({4, 5})
    assert core.rest({5}) == 101
    assert not PeakCore(graph, graph.file_order, 201, 10.0).stays_without(())
