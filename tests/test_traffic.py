"""Off-chip traffic: the model in cases worked out by hand, and Belady against the best of all policies."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import peak
from serenity_mlir.traffic import Traffic, streamed, traffic

NONE: tuple[int, ...] = ()


def chain(buffers: list[Buffer], ops: list[Op]) -> MemoryGraph:
    """Ops that run in the order given."""
    return MemoryGraph(
        tuple(ops), tuple(buffers), tuple(NONE if i == 0 else (i - 1,) for i in range(len(ops)))
    )


def run(graph: MemoryGraph, on_chip: int) -> tuple[int, int]:
    """Bytes in and out of file order."""
    found = traffic(graph, graph.file_order, on_chip)
    assert found.total == found.bytes_in + found.bytes_out
    return found.bytes_in, found.bytes_out


def test_the_buffer_used_last_is_spilled_once_and_read_once() -> None:
    # a is made first and used last; b and c do not fit beside it.
    graph = chain(
        [Buffer("a", 10), Buffer("b", 4), Buffer("c", 4)],
        [Op("make a", (0,)), Op("make b", (1,)), Op("b to c", (1, 2)), Op("a, c", (0, 2))],
    )
    assert peak(graph, graph.file_order) == 18
    assert run(graph, 18) == (0, 0)
    assert run(graph, 17) == (10, 10)
    assert run(graph, 14) == (10, 10)
    # At 13 the last op's buffers do not fit together: a is streamed, hence worth nothing on chip.
    assert run(graph, 13) == (10, 10)
    # At 9 a is always streamed; at 3 so are b (out, in) and c (out, in).
    assert run(graph, 9) == (10, 10)
    assert run(graph, 3) == (18, 18)


def test_a_clean_buffer_leaves_for_free() -> None:
    buffers = [Buffer("input", 8, live_in=True), Buffer("a", 4), Buffer("b", 4)]
    ops = [Op("make a", (1,)), Op("a to b", (1, 2)), Op("use", (0, 2))]
    assert run(chain(buffers, ops), 12) == (8, 0)
    # Spilled, a buffer is clean until an update makes it dirty again.
    buffers = [Buffer("a", 8), Buffer("b", 4), Buffer("c", 4)]
    ops = [
        *(Op("make a", (0,)), Op("make b", (1,)), Op("use b", (1,))),
        *(Op("use a", (0,)), Op("make c", (2,)), Op("use c", (2,)), Op("use a", (0,))),
    ]
    assert run(chain(buffers, ops), 8) == (16, 8)
    ops[3] = Op("update a", (0,), frozenset({0}))
    assert run(chain(buffers, ops), 8) == (16, 16)


def test_dead_results_and_results_that_stay() -> None:
    dead = chain([Buffer("a", 8), Buffer("b", 8)], [Op("make a", (0,)), Op("make b", (1,))])
    assert run(dead, 8) == (0, 0)
    kept = chain([Buffer("a", 8, live_out=True), Buffer("b", 8)], [Op("make a", (0,)), Op("make b", (1,))])
    assert run(kept, 16) == (0, 0)
    assert run(kept, 8) == (0, 8)  # written out, not needed again


def test_an_update_of_a_streamed_buffer_goes_both_ways() -> None:
    graph = chain([Buffer("a", 8)], [Op("make a", (0,)), Op("update a", (0,), frozenset({0}))])
    assert run(graph, 4) == (8, 16)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        traffic(MemoryGraph((), (), ()), (), -1)


@st.composite
def runs(draw: st.DrawFn, sizes: st.SearchStrategy[int]) -> MemoryGraph:
    """Ops in a row that touch any buffers and update some."""
    count = draw(st.integers(1, 5))
    size = st.shared(sizes, key="size") if draw(st.booleans()) else sizes
    buffers = [
        Buffer(f"b{i}", draw(size), draw(st.integers(0, 3)) == 3, draw(st.integers(0, 3)) == 3)
        for i in range(count)
    ]
    some = st.lists(st.integers(0, count - 1), unique=True, max_size=3)
    ops = []
    for step in range(draw(st.integers(1, 7))):
        touches = draw(some)
        ops.append(
            Op(f"op{step}", tuple(touches), frozenset(i for i in touches if draw(st.integers(0, 2)) == 2))
        )
    return chain(buffers, ops)


def best(graph: MemoryGraph, on_chip: int) -> tuple[int, int]:
    """The least bytes in, and the least bytes in both directions, over all replacement policies.

    All states at once: what is on chip, and what of it is dirty; off chip everything is up to date.
    """
    size = [buffer.size for buffer in graph.buffers]
    last = {index: step for step, op in enumerate(graph.ops) for index in op.touches}
    begins = {index for index, buffer in enumerate(graph.buffers) if buffer.live_in}
    made = set(begins)
    states: dict[tuple[frozenset[int], frozenset[int]], set[tuple[int, int]]] = {
        (frozenset(begins), frozenset()): {(0, 0)}
    }
    for step, op in enumerate(graph.ops):
        passing = streamed(graph, step, on_chip)
        writes = {index for index in op.touches if index not in made or index in op.updates}
        after: dict[tuple[frozenset[int], frozenset[int]], set[tuple[int, int]]] = {}
        for (held, dirty), costs in states.items():
            others = sorted(held - set(op.touches))
            for count in range(len(others) + 1):
                for stay in combinations(others, count):
                    now = {*stay, *(index for index in op.touches if index not in passing)}
                    if sum(size[index] for index in now) > on_chip:
                        continue
                    out = sum(size[index] for index in dirty - now)
                    out += sum(size[index] for index in passing & writes)
                    into = sum(size[i] for i in op.touches if i in made and (i in passing or i not in held))
                    live = {i for i in now if last.get(i, -1) > step or graph.buffers[i].live_out}
                    state = frozenset(live), frozenset((dirty | writes) & live)
                    after.setdefault(state, set()).update((a + into, b + out) for a, b in costs)
        states = after
        made.update(op.touches)
    costs = set().union(*states.values())
    return min(a for a, _ in costs), min(a + b for a, b in costs)


@settings(max_examples=400)
@given(runs(st.integers(0, 6)), st.integers(0, 20))
def test_no_policy_is_beaten_that_cannot_be(graph: MemoryGraph, on_chip: int) -> None:
    found = traffic(graph, graph.file_order, on_chip)
    least_in, least = best(graph, on_chip)
    assert found.bytes_in >= least_in
    assert found.total >= least


@settings(max_examples=400)
@given(runs(st.just(2)), st.integers(0, 12))
def test_bytes_in_are_minimal_where_sizes_are_equal(graph: MemoryGraph, on_chip: int) -> None:
    found = traffic(graph, graph.file_order, on_chip)
    least_in, least = best(graph, on_chip)
    assert found.bytes_in == least_in
    assert found.total >= least


@settings(max_examples=400)
@given(runs(st.integers(1, 6)))
def test_there_is_none_exactly_where_the_peak_fits(graph: MemoryGraph) -> None:
    height = peak(graph, graph.file_order)
    assert traffic(graph, graph.file_order, height) == Traffic(0, 0)
    passed_on = any(buffer.live_in and buffer.live_out for buffer in graph.buffers)
    if height and not passed_on:
        assert traffic(graph, graph.file_order, height - 1).total > 0
