"""Many graphs: the schedules that each would get alone, in order, failures among them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import dataflow, graphs, optimum

from serenity_mlir.executors import Done, Executor, Failed, InProcess, Processes
from serenity_mlir.executors.interface import Item, Result
from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.schedulers import Schedule, schedule_many


class Backwards:
    """Ends the last item first."""

    def map_as_completed(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Done[Result] | Failed]:
        yield from reversed(list(InProcess().map_as_completed(function, items)))

    def close(self) -> None:
        pass


def chain(length: int) -> MemoryGraph:
    """Each op reads what the one before made; two buffers of `length` bytes are live at most."""
    touches = [(0,), *((op - 1, op) for op in range(1, length))]
    return MemoryGraph(
        tuple(Op(f"op{op}", buffers) for op, buffers in enumerate(touches)),
        tuple(Buffer(f"b{op}", length) for op in range(length)),
        tuple(() if op == 0 else (op - 1,) for op in range(length)),
    )


def hard() -> MemoryGraph:
    """A graph that takes more than one state."""
    generator = random.Random(1)
    preds = [sorted(generator.sample(range(op), min(op, 2))) for op in range(30)]
    return dataflow(preds, [generator.randint(1, 100) for _ in preds])


@given(st.lists(graphs(6), max_size=4))
@settings(max_examples=25)
def test_all_are_optimal_and_in_order(many: list[MemoryGraph]) -> None:
    for executor in (InProcess(), Backwards()):
        found = list(schedule_many(many, executor, time_limit=5.0))
        assert [end.peak for end in found if isinstance(end, Schedule)] == [optimum(graph) for graph in many]


@pytest.mark.parametrize("make", [InProcess, lambda: Processes(2)])
def test_failures_keep_their_place(make: Callable[[], Executor]) -> None:
    broken = chain(3)
    object.__setattr__(broken, "preds", ((), (7,), ()))  # no graph can be made so
    executor = make()
    one, two, three = schedule_many([chain(4), broken, chain(5)], executor)
    executor.close()
    assert isinstance(one, Schedule)
    assert isinstance(two, Failed)
    assert two.index == 1
    assert isinstance(three, Schedule)
    assert (one.peak, three.peak) == (8, 10)


def test_limits_are_for_each_graph() -> None:
    graph = hard()
    (file_order,) = schedule_many([graph], InProcess(), time_limit=0.0)
    (found,) = schedule_many([graph], InProcess())
    (starved,) = schedule_many([graph], InProcess(), max_states=1)
    assert isinstance(file_order, Schedule)
    assert isinstance(found, Schedule)
    assert isinstance(starved, Schedule)
    assert found.optimal
    assert file_order.states == 0
    assert starved.states < found.states
