"""Claims of docs/memory-model.md and docs/algorithms.md, tried on every downset of small graphs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations

from hypothesis import example, given
from hypothesis import strategies as st

from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.liveness import live_bytes, live_ranges

Downset = frozenset[int]


@st.composite
def graphs(draw: st.DrawFn, max_ops: int = 6) -> MemoryGraph:
    """Ops that touch any buffers at all: aliases, live-in and live-out ones, sizes that tie or are zero."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=6))
    buffers = tuple(
        Buffer(f"b{i}", size, draw(st.booleans()), draw(st.booleans())) for i, size in enumerate(sizes)
    )
    count = draw(st.integers(1, max_ops))
    touches = [draw(st.sets(st.integers(0, len(sizes) - 1), max_size=3)) for _ in range(count)]
    preds = [draw(st.sets(st.integers(0, i - 1), max_size=2)) if i else set() for i in range(count)]
    ops = tuple(Op(f"op{i}", tuple(sorted(touched))) for i, touched in enumerate(touches))
    return MemoryGraph(ops, buffers, tuple(tuple(sorted(found)) for found in preds))


class Model:
    """The definitions of the page, word for word."""

    def __init__(self, graph: MemoryGraph) -> None:
        self.graph = graph
        self.ops = frozenset(range(len(graph.ops)))
        self.touching = [
            frozenset(op for op in self.ops if index in graph.ops[op].touches)
            for index in range(len(graph.buffers))
        ]
        self.best = cache(self._best)

    def held(self, touched_by: Downset, covered_by: Downset) -> int:
        total = 0
        for buffer, touching in zip(self.graph.buffers, self.touching, strict=True):
            begun = bool(touched_by & touching) or (buffer.live_in and bool(touching or buffer.live_out))
            over = touching <= covered_by and not buffer.live_out
            total += buffer.size if begun and not over else 0
        return total

    def live(self, done: Downset) -> int:
        return self.held(done, done)

    def step(self, done: Downset, op: int) -> int:
        return self.held(done | {op}, done)

    def ready(self, done: Downset) -> list[int]:
        return [op for op in sorted(self.ops - done) if done.issuperset(self.graph.preds[op])]

    def _best(self, done: Downset) -> int:
        """The least peak of a completion of `done`."""
        peaks = [max(self.step(done, op), self.best(done | {op})) for op in self.ready(done)]
        return min(peaks, default=0)

    def downsets(self) -> Iterator[Downset]:
        seen: set[Downset] = {frozenset()}
        pending = list(seen)
        while pending:
            done = pending.pop()
            yield done
            new = {done | {op} for op in self.ready(done)} - seen
            seen |= new
            pending.extend(new)

    def ancestors(self, op: int) -> set[int]:
        return {op}.union(*(self.ancestors(pred) for pred in self.graph.preds[op]))


@given(graphs())
def test_steps_are_the_live_bytes_of_any_order(graph: MemoryGraph) -> None:
    model = Model(graph)
    for order in permutations(range(len(graph.ops))):
        if graph.is_legal(order):
            steps = [model.step(frozenset(order[:i]), op) for i, op in enumerate(order)]
            assert live_bytes(live_ranges(graph, order), len(order)) == steps


@given(graphs())
def test_dominance(graph: MemoryGraph) -> None:
    model = Model(graph)
    for done in model.downsets():
        for op in model.ready(done):
            if model.live(done | {op}) <= model.live(done):
                assert model.best(done | {op}) <= model.best(done)


@given(graphs(max_ops=4), st.data())
def test_lemmas(graph: MemoryGraph, data: st.DataObject) -> None:
    model = Model(graph)
    sets = st.frozensets(st.integers(0, len(graph.ops) - 1))
    small, extra, new = data.draw(sets), data.draw(sets), data.draw(sets)
    large = small | extra
    new -= large
    added = model.live(small | new) - model.live(small)
    assert model.live(large | new) - model.live(large) <= added
    for op in model.ops - small - new:
        assert model.step(small | new, op) - model.step(small, op) <= added


@given(graphs(max_ops=5))
def test_commitment(graph: MemoryGraph) -> None:
    model = Model(graph)
    downsets = list(model.downsets())
    for done in downsets:
        for later in downsets:
            between = (middle for middle in downsets if done <= middle <= later)
            if done < later and all(model.live(middle) >= model.live(later) for middle in between):
                assert model.best(later) <= model.best(done)


def waiting(first: Buffer, second: Buffer, third: Buffer) -> MemoryGraph:
    """Two ops, a buffer each, and one that waits for both."""
    ops = (Op("first", (0,)), Op("second", (1,)), Op("third", (2,)))
    return MemoryGraph(ops, (first, second, third), ((), (), (0, 1)))


# The first op had better run early: it frees something, or takes more than the one that waits for it.
@example(waiting(Buffer("a", 3, live_in=True), Buffer("b", 6), Buffer("c", 4)))
@example(waiting(Buffer("a", 5), Buffer("b", 3, live_out=True), Buffer("c", 0)))
@given(graphs(max_ops=5))
def test_contraction(graph: MemoryGraph) -> None:
    model = Model(graph)
    downsets = list(model.downsets())
    for op, consumers in enumerate(graph.succs):
        if len(consumers) != 1:
            continue
        user = consumers[0]
        before = [done for done in downsets if op in model.ready(done)]
        lowers = any(model.live(done | {op}) < model.live(done) for done in before)
        higher = any(
            model.step(done, op) > model.step(done | {op}, user)
            for done in before
            if user in model.ready(done | {op})
        )
        if not lowers and not higher:
            orders = [order for order in permutations(model.ops) if graph.is_legal(order)]
            peaks = {order: max(live_bytes(live_ranges(graph, order), len(order))) for order in orders}
            late = [peaks[order] for order in orders if order.index(op) + 1 == order.index(user)]
            assert min(late) == min(peaks.values())


def test_dominance_needs_the_step_to_fit() -> None:
    """`scratch` frees what it takes, and still has to wait until `reader` has freed the input."""
    buffers = (Buffer("input", 5, live_in=True), Buffer("temporary", 6))
    model = Model(MemoryGraph((Op("scratch", (1,)), Op("reader", (0,))), buffers, ((), ())))
    start = frozenset[int]()
    assert model.live(start | {0}) == model.live(start)
    assert model.step(start, 0) == 11 > model.best(start) == 6


@given(graphs())
def test_an_op_that_only_allocates_runs_just_before_its_consumer(graph: MemoryGraph) -> None:
    model = Model(graph)
    for op, consumers in enumerate(graph.succs):
        if len(consumers) != 1 or not set(graph.ops[op].touches) <= set(graph.ops[consumers[0]].touches):
            continue
        orders = [order for order in permutations(model.ops) if graph.is_legal(order)]
        peaks = {order: max(live_bytes(live_ranges(graph, order), len(order))) for order in orders}
        late = [peaks[order] for order in orders if order.index(op) + 1 == order.index(consumers[0])]
        assert min(late) == min(peaks.values())


@given(graphs())
def test_refused_steps_bound_the_optimum(graph: MemoryGraph) -> None:
    model = Model(graph)
    optimum = model.best(frozenset())
    for budget in range(optimum):
        reached, pending, refused = {frozenset[int]()}, [frozenset[int]()], set()
        while pending:
            done = pending.pop()
            for op in model.ready(done):
                if model.step(done, op) > budget:
                    refused.add(model.step(done, op))
                elif done | {op} not in reached:
                    reached.add(done | {op})
                    pending.append(done | {op})
        assert model.ops not in reached
        assert budget < min(refused) <= optimum


@given(graphs())
def test_what_must_be_live_while_an_op_runs_is_a_lower_bound(graph: MemoryGraph) -> None:
    model = Model(graph)
    for op in model.ops:
        before = model.ancestors(op)
        after = {other for other in model.ops if op in model.ancestors(other)}
        must = sum(
            buffer.size
            for buffer, touching in zip(graph.buffers, model.touching, strict=True)
            if (touching & before or (buffer.live_in and touching)) and (touching & after or buffer.live_out)
        )
        assert must <= model.best(frozenset())
