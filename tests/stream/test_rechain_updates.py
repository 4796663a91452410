"""Re-chained updates: the meaning stays, the peak is that of the best chain, wrong ones are caught."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from chains import Chain, Look, Update, chains
from hypothesis import HealthCheck, given, settings
from lowering import ALLOCATE, at_execution, finish, model_graph, run
from programs import concat_program

from serenity_mlir.dialect_passes.stream.rechain_updates import RechainUpdatesPass
from serenity_mlir.dialect_passes.stream.region_rewrite import RegionRewrite
from serenity_mlir.dialect_passes.stream.schedule_execution import ScheduleExecutionPass
from serenity_mlir.dialect_passes.stream.spans import Span
from serenity_mlir.dialect_passes.stream.symbolic import check_order
from serenity_mlir.errors import CheckFailed
from serenity_mlir.liveness import peak
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.schedulers import schedule

# Each value is made from the one before; the last is the concat's first operand.
LAST_FIRST = Chain((4, 4, 4), ((), (0,), (1,)), 12, (Update(2, 0), Update(1, 4), Update(0, 8)))
# Of the first ten programs, those that gain.
RECHAINED = {0, 5, 6, 7}
OVERLAPPING = replace(LAST_FIRST, updates=(Update(2, 0), Update(1, 2), Update(0, 5)))


def _best(program: Program) -> int:
    """The least peak of any order, as the chain stands."""
    found = schedule(model_graph(program)[1].graph)
    assert found.optimal
    return found.peak


def _peak(program: Program) -> int:
    graph = model_graph(program)[1].graph
    return peak(graph, graph.file_order)


def _rewrite(program: Program) -> list[RegionRewrite]:
    ScheduleExecutionPass().apply(program.module)
    return RechainUpdatesPass().apply(program.module)


def _check(reference: Program, program: Program) -> None:
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    assert check_order(reference.module, program.module) == 1


def test_the_last_operand_first_costs_a_value() -> None:
    program = LAST_FIRST.program()
    reference, before = program.fork(), _best(program)
    (found,) = _rewrite(program)
    assert (found.saved, _peak(program)) == (256, before - 256)
    assert [place.split()[0] for place in found.places] == ["alloca"]
    _check(reference, program)


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(chain=chains(disjoint=True))
def test_peak_is_that_of_the_best_chain(chain: Chain) -> None:
    """Brute force: each order of the updates that leaves every reader what it read."""
    program = chain.program()
    reference = program.fork()
    before = _best(program)
    found = _rewrite(program)
    after = _peak(program)
    assert after == min(_best(item.program()) for item in _equivalent(chain)) <= before
    assert before - after == sum(item.saved for item in found)
    _check(reference, program)


def _equivalent(chain: Chain) -> list[Chain]:
    """All chains that put the same into the buffer, and show the same to each that looks."""
    out = []
    for updates in permutations(chain.updates):
        for looks in _placed(chain, updates, 0):
            out.append(replace(chain, updates=updates, looks=looks))
    return out


def _placed(chain: Chain, updates: tuple[Update, ...], number: int) -> list[tuple[Look, ...]]:
    """Where in a chain of `updates` looks `number…` see what they saw."""
    if number == len(chain.looks):
        return [()]
    look = chain.looks[number]
    seen = _seen(chain, chain.updates[: look.after], look)
    places = [
        replace(look, after=after)
        for after in range(len(updates) + 1)
        if _seen(chain, updates[:after], look) == seen
    ]
    return [(place, *rest) for place in places for rest in _placed(chain, updates, number + 1)]


def _seen(chain: Chain, updates: tuple[Update, ...], look: Look) -> list[Update | None]:
    content: list[Update | None] = [None] * chain.buffer
    for update in updates:
        size = chain.sizes[update.source]
        content[update.start : update.start + size] = [update] * size
    return content[look.start : look.end]


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(chain=chains(disjoint=False))
def test_overlapping_slices_keep_their_meaning(chain: Chain) -> None:
    program = chain.program()
    reference = program.fork()
    ScheduleExecutionPass().apply(program.module)
    before, text = _peak(program), str(program.module)
    found = RechainUpdatesPass().apply(program.module)
    assert (_peak(program) < before) == bool(found)
    assert found or str(program.module) == text
    _check(reference, program)


def test_overlapping_slices_are_left_alone() -> None:
    program = OVERLAPPING.program()
    assert not _rewrite(program)


@pytest.mark.parametrize("seed", range(10))
def test_programs_compute_the_same(seed: int) -> None:
    source = concat_program(seed)
    program = at_execution(source.text)
    reference = program.fork()
    assert len(_rewrite(program)) == (seed in RECHAINED)
    _check(reference, program)
    for result, expected in zip(run(finish(program), source.inputs), source.expected, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_a_wrong_chain_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were overlapping slices taken for disjoint, the check of the order would say so."""
    program = OVERLAPPING.program()
    reference = program.fork()
    real = Span.overlaps

    def blind(one: Span, other: Span) -> bool:
        return real(one, other) and (one.start is None or other.start is None or one.end == other.end)

    monkeypatch.setattr(Span, "overlaps", blind)
    assert _rewrite(program)
    reference.run(ALLOCATE)
    program.run(ALLOCATE)
    with pytest.raises(CheckFailed, match="holds something else"):
        check_order(reference.module, program.module)
