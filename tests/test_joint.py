"""Order and arena together."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serenity_mlir import joint
from serenity_mlir.arena import ArenaPlan, check_plan, plan
from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.joint import schedule_and_plan
from serenity_mlir.liveness import live_ranges, peak


@st.composite
def graphs(draw: st.DrawFn) -> MemoryGraph:
    """Up to six ops, each with one result of its own that later ones may read."""
    count = draw(st.integers(1, 6))
    preds = [
        tuple(sorted(draw(st.sets(st.integers(0, index - 1), max_size=2)))) if index else ()
        for index in range(count)
    ]
    buffers = tuple(Buffer(f"b{index}", draw(st.integers(0, 5))) for index in range(count))
    ops = tuple(Op(f"o{index}", (*preds[index], index)) for index in range(count))
    return MemoryGraph(ops, buffers, tuple(preds))


@given(graphs())
@settings(max_examples=300)
def test_the_arena_is_legal_and_never_below_what_any_order_needs(graph: MemoryGraph) -> None:
    found, arena = schedule_and_plan(graph, alignment=1, time_limit=5.0)
    assert graph.is_legal(found.order)
    assert found.peak == peak(graph, found.order)
    slices = live_ranges(graph, found.order)
    check_plan(slices, arena.offsets, arena.size, alignment=1)
    orders = (order for order in itertools.permutations(range(len(graph.ops))) if graph.is_legal(order))
    least = min(plan(live_ranges(graph, order), alignment=1).size for order in orders)
    assert found.lower_bound <= least <= arena.size


def test_another_order_is_taken_where_the_best_peak_does_not_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that finds gaps in the first order it is asked about: the next best is taken."""
    wide = [Buffer("w0", 8), Buffer("w1", 8), Buffer("n0", 1), Buffer("n1", 1)]
    ops = (Op("w0", (0,)), Op("w1", (1,)), Op("n0", (0, 2)), Op("n1", (1, 3)), Op("end", (2, 3)))
    graph = MemoryGraph(ops, tuple(wide), ((), (), (0,), (1,), (2, 3)))
    asked: list[ArenaPlan] = []

    def planner(slices: object, *, alignment: int, time_limit: float) -> ArenaPlan:
        real = plan(slices, alignment=alignment, time_limit=time_limit)  # type: ignore[arg-type]
        asked.append(real)
        return real if len(asked) > 1 else ArenaPlan(real.offsets, 100, real.lower_bound, "gaps")

    monkeypatch.setattr(joint, "plan", planner)
    found, arena = schedule_and_plan(graph, alignment=1, time_limit=5.0)
    assert len(asked) > 1
    assert arena.size < 100
    assert "packs tighter" in found.method
    assert graph.is_legal(found.order)
