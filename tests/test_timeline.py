"""The course of memory of any graph and order, against live bytes counted one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import live_ranges
from serenity_mlir.timeline import Course, Source, course


@st.composite
def courses(draw: st.DrawFn) -> tuple[MemoryGraph, Course]:
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=6))
    buffers = tuple(Buffer(f"b{index}", size) for index, size in enumerate(sizes))
    touches = st.sets(st.integers(0, len(sizes) - 1), max_size=3)
    ops = tuple(Op(f"op{index}", tuple(sorted(draw(touches)))) for index in range(draw(st.integers(1, 7))))
    graph = MemoryGraph(ops, buffers, ((),) * len(ops))
    order = draw(st.permutations(range(len(ops))))
    sources = [Source(f"op{index}", (f"node{index}",)) for index in order]
    return graph, course(graph, order, sources, {0: 5})


@given(courses())
def test_live_bytes_are_those_of_the_buffers(given_course: tuple[MemoryGraph, Course]) -> None:
    graph, found = given_course
    before = 0
    for number, step in enumerate(found.steps):
        live = found.live_at(number)
        assert step.live == sum(item.size for item in live)
        assert step.delta == step.live - before
        assert [item.size for item in live] == sorted((item.size for item in live), reverse=True)
        before = step.live
    assert found.peak == max(step.live for step in found.steps) == found.steps[found.peak_step].live
    assert all(step.live < found.peak for step in found.steps[: found.peak_step])
    order = [int(step.op.removeprefix("op")) for step in found.steps]
    used = [item for item in live_ranges(graph, order) if item.size and item.start < item.end]
    assert [(item.first, item.last + 1, item.size) for item in found.buffers] == [
        (item.start, item.end, item.size) for item in used
    ]


def test_a_buffer_names_what_writes_it() -> None:
    """One op makes it, one changes it in place, one reads it."""
    graph = MemoryGraph(
        (Op("a", (0,)), Op("b", (0, 1), frozenset({0})), Op("c", (0, 1))),
        (Buffer("a", 64), Buffer("input 0", 32, live_in=True), Buffer("unused", 8)),
        ((), (0,), (1,)),
    )
    sources = [Source("alloca", ("concat",)), Source("conv_1", ("conv", "relu")), Source("conv_2", ("add",))]
    found = course(graph, graph.file_order, sources, {0: 32, 1: 0}, ("x", ""))
    own, held = found.buffers
    assert (own.label, own.offset, own.owner) == ("alloca [concat, conv, relu]", 32, "slab")
    assert (held.label, held.first, held.last, held.owner) == ("input 0 [x]", 0, 2, "input")
    assert found.arena == 96
    with pytest.raises(ValueError, match="zip"):
        course(graph, graph.file_order, sources[:2], {})


def test_an_arena_with_a_hole_in_what_is_known_is_not_known() -> None:
    graph = MemoryGraph((Op("a", (0, 1)),), (Buffer("a", 64), Buffer("b", 64)), ((),))
    assert course(graph, [0], [Source("a")], {0: 0}).arena is None
    assert course(graph, [0], [Source("a")], {0: 0, 1: 64}).arena == 128
