"""plan() against brute force, its bound, its limits, and odd input."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from arena_cases import ABOVE_PEAK, CAPACITY, interval_slices, load_challenging, optimum
from hypothesis import given, settings
from hypothesis import strategies as st
from work_clock import WorkClock

from serenity_mlir.arena import check_plan, driver, plan
from serenity_mlir.arena.exact import luby
from serenity_mlir.arena.first_fit import height, heuristics, sweep
from serenity_mlir.arena.iree_layout import PackSlice, iree_layout
from serenity_mlir.arena.preordered import Preordered
from serenity_mlir.arena.problem import Problem, Sections, segments
from serenity_mlir.arena.search import OutOfBudget, Refuted, Search
from serenity_mlir.arena.selection import SELECTIONS
from serenity_mlir.liveness import Slice


@settings(deadline=None)
@given(interval_slices(20), st.sampled_from([1, 64]))
def test_every_plan_passes_the_checker(items: list[Slice], alignment: int) -> None:
    result = plan(items, alignment=alignment, time_limit=0.2)
    check_plan(items, result.offsets, result.size, alignment=alignment)
    assert result.lower_bound <= result.size
    assert result.size % alignment == 0


@settings(max_examples=300, deadline=None)
@given(interval_slices(6, size=6))
def test_equals_brute_force(items: list[Slice]) -> None:
    result = plan(items, alignment=1)
    assert result.size == result.lower_bound == optimum(items)


@settings(deadline=None)
@given(interval_slices(6))
def test_equals_brute_force_when_aligned(items: list[Slice]) -> None:
    rounded = [Slice(item.start, item.end, -(-item.size // 64)) for item in items]
    result = plan(items, alignment=64)
    assert result.size == result.lower_bound == optimum(rounded) * 64


def decide(items: list[Slice], selection: str, seed: int) -> None:
    """Each search alone, without heuristics before it, at capacities around the optimum."""
    for indices, problem in segments(items, 1):
        order = list(range(len(problem)))
        random.Random(seed).shuffle(order)
        best = optimum([items[index] for index in indices])
        sections = Sections.of(problem)
        for capacity in range(max(best - 3, 1), best + 2):
            search = Search(Preordered(problem, sections, order), capacity, selection)
            outcome = search.run(1_000_000, time.monotonic() + 60)
            if capacity < best:
                assert isinstance(outcome, Refuted)
                assert capacity < outcome.next_capacity <= best
            else:
                assert not isinstance(outcome, Refuted)
                assert height(problem, outcome) <= capacity


@settings(max_examples=300, deadline=None)
@given(interval_slices(6, size=5), st.sampled_from(sorted(SELECTIONS)), st.integers(0, 99))
def test_search_decides_every_capacity_rightly(items: list[Slice], selection: str, seed: int) -> None:
    decide(items, selection, seed)


def near_the_gap(rng: random.Random) -> list[Slice]:
    """Variations of `ABOVE_PEAK`, of which a fifth do not fit their peak either."""
    items = [Slice(item.start * 2, item.end * 2, item.size * 3) for item in ABOVE_PEAK]
    for _ in range(rng.randrange(1, 6)):
        index = rng.randrange(len(items))
        item = items[index]
        change = rng.choice(["split", "shift", "resize"])
        if change == "split" and item.size > 1:
            lower = rng.randrange(1, item.size)
            items[index] = Slice(item.start, item.end, lower)
            items.append(Slice(item.start, item.end, item.size - lower))
        elif change == "shift":
            items[index] = Slice(item.start, max(item.end + rng.choice([-1, 1]), item.start + 1), item.size)
        else:
            items[index] = Slice(item.start, item.end, max(item.size + rng.choice([-1, 1]), 1))
    small = [rng.randrange(2, 17) for _ in range(rng.randrange(9))]
    return items + [Slice(start, start + rng.randrange(1, 4), rng.randrange(1, 3)) for start in small]


def test_searches_never_contradict_each_other() -> None:
    """No brute force reaches this size, but a plan that one search finds no other may refute."""
    refuted = 0
    for seed in range(200):
        rng = random.Random(seed)
        for _, problem in segments(near_the_gap(rng), 1):
            verdicts = set()
            for selection in [*SELECTIONS, *SELECTIONS]:
                order = rng.sample(range(len(problem)), len(problem))
                search = Search(Preordered(problem, Sections.of(problem), order), problem.peak, selection)
                try:
                    outcome = search.run(2000, time.monotonic() + 60)
                except OutOfBudget:
                    continue
                verdicts.add(isinstance(outcome, Refuted))
            assert len(verdicts) < 2, (seed, problem)
            refuted += verdicts == {True}
    assert refuted > 30


@pytest.mark.parametrize("selection", SELECTIONS)
def test_search_proves_what_the_peak_does_not(selection: str) -> None:
    for seed in range(5):
        decide(ABOVE_PEAK, selection, seed)


@settings(max_examples=200, deadline=None)
@given(interval_slices(6, size=6), st.integers(0, 40), st.sampled_from([1, 4]))
def test_a_capacity_is_met_if_any_plan_meets_it(items: list[Slice], capacity: int, alignment: int) -> None:
    best = optimum([Slice(item.start, item.end, -(-item.size // alignment)) for item in items]) * alignment
    result = plan(items, alignment=alignment, capacity=capacity)
    check_plan(items, result.offsets, result.size, alignment=alignment)
    assert result.lower_bound <= best <= result.size <= max(best, capacity)
    assert (result.size <= capacity) == (best <= capacity)


def test_a_capacity_is_no_proof() -> None:
    """The capacity, 8, is also the optimum, but below it only the peak, 7, is proven."""
    result = plan(ABOVE_PEAK, alignment=1, capacity=8)
    assert (result.size, result.lower_bound) == (8, 7)
    assert plan(ABOVE_PEAK, alignment=1, capacity=7).lower_bound == 8


@settings(max_examples=100, deadline=None)
@given(interval_slices(6, size=6), st.integers(1, 9))
def test_a_common_factor_of_the_sizes_changes_nothing(items: list[Slice], factor: int) -> None:
    larger = [Slice(item.start, item.end, item.size * factor) for item in items]
    ours, theirs = plan(items, alignment=1), plan(larger, alignment=1)
    assert theirs.offsets == tuple(offset * factor for offset in ours.offsets)
    assert (theirs.lower_bound, theirs.nodes) == (ours.lower_bound * factor, ours.nodes)


def test_optimum_above_the_peak_is_proven() -> None:
    result = plan(ABOVE_PEAK, alignment=1)
    assert (result.size, result.lower_bound) == (8, 8) == (optimum(ABOVE_PEAK),) * 2
    assert result.optimal


def test_bound_of_a_part_cut_short_is_not_proven_by_another() -> None:
    """The second part needs 8 as the first does, but without time nothing above the peak is proven."""
    later = [Slice(item.start + 20, item.end + 20, item.size) for item in ABOVE_PEAK]
    result = plan(ABOVE_PEAK + later, alignment=1, time_limit=0)
    assert result.size > result.lower_bound == 7
    assert not result.optimal
    assert plan(ABOVE_PEAK + later, alignment=1).lower_bound == 8


@settings(deadline=None)
@given(interval_slices(12))
def test_never_worse_than_a_heuristic_or_stock(items: list[Slice]) -> None:
    size = plan(items, alignment=64, time_limit=0).size
    runs = [[height(part, offsets) for _, offsets in heuristics(part)] for _, part in segments(items, 64)]
    for heights in zip(*runs, strict=True):
        assert size <= max(heights) * 64
    packs = [PackSlice(item.start, item.end - 1, item.size) for item in items if item.start < item.end]
    assert size <= iree_layout(packs).size


def test_slices_that_occupy_nothing() -> None:
    items = [Slice(0, 3, 0), Slice(2, 2, 100), Slice(0, 3, 10), Slice(5, 5, 0)]
    result = plan(items, alignment=16)
    assert (result.offsets, result.size) == ((0, 0, 0, 0), 16)
    assert plan([]).size == plan([Slice(0, 0, 8)]).size == 0


@pytest.mark.parametrize(("items", "alignment"), [([Slice(0, 1, -1)], 1), ([], 0), ([], -64)])
def test_nonsense_is_refused(items: list[Slice], alignment: int) -> None:
    with pytest.raises(ValueError, match=r"negative|positive"):
        plan(items, alignment=alignment)


def test_same_plan_on_every_run() -> None:
    rng = random.Random(7)
    items = [Slice(step, step + rng.randrange(1, 9), rng.randrange(1, 2000)) for step in range(60)]
    first, second = plan(items, time_limit=60), plan(items, time_limit=60)
    assert (first.offsets, first.nodes, first.method) == (second.offsets, second.nodes, second.method)


def test_long_chain_is_packed_without_recursion() -> None:
    rng = random.Random(3)
    items = [Slice(step, step + 3, rng.randrange(100_000)) for step in range(3000)]
    result = plan(items, time_limit=30)
    check_plan(items, result.offsets, result.size, alignment=64)
    assert result.optimal


def cut(area: tuple[int, int, int, int], pieces: int, rng: random.Random) -> list[Slice]:
    """A rectangle of time and space cut into pieces, so that a plan without any gap exists."""
    start, end, bottom, top = area
    if pieces == 1 or (end - start < 2 and top - bottom < 2):
        return [Slice(start, end, top - bottom)]
    some = rng.randrange(1, pieces)
    if top - bottom < 2 or (end - start >= 2 and rng.random() < 0.5):
        at = rng.randrange(start + 1, end)
        halves = (start, at, bottom, top), (at, end, bottom, top)
    else:
        at = rng.randrange(bottom + 1, top)
        halves = (start, end, bottom, at), (start, end, at, top)
    return cut(halves[0], some, rng) + cut(halves[1], pieces - some, rng)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_what_a_search_finds_fits(selection: str) -> None:
    """Larger than brute force can judge, but a plan exists, and a failure that is missed would show."""
    found = 0
    for seed in range(60):
        rng = random.Random(seed)
        capacity = rng.choice([1000, 1050])
        for _, problem in segments(cut((0, 40, 0, 1000), 40, rng), 1):
            order = rng.sample(range(len(problem)), len(problem))
            search = Search(Preordered(problem, Sections.of(problem), order), capacity, selection)
            try:
                outcome = search.run(1000, time.monotonic() + 60)
            except OutOfBudget:
                continue
            assert not isinstance(outcome, Refuted)
            assert height(problem, outcome) <= capacity
            found += 1
    assert found > 20


class Watched(Search):
    """A search that stacks every section anew after each decision."""

    def _tighten(self, first: int, last: int, delta: int) -> bool:
        consistent = super()._tighten(first, last, delta)
        for section, members in enumerate(self.given.live if consistent else ()):
            top = 0
            for key in sorted(self._keys[index] for index in members if self._offsets[index] < 0):
                top = max(top, key >> self._bits) + self.given.sizes[key & self._mask]
            assert top <= min(self._reach[section], self.capacity)
        return consistent


def test_no_overshoot_is_missed() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        items = near_the_gap(rng) if seed % 2 else cut((0, 20, 0, 60), 20, rng)
        for _, problem in segments(items, 1):
            order = rng.sample(range(len(problem)), len(problem))
            given = Preordered(problem, Sections.of(problem), order)
            search = Watched(given, problem.peak + rng.randrange(4), rng.choice(list(SELECTIONS)))
            with suppress(OutOfBudget):
                search.run(300, time.monotonic() + 60)


def test_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    items = cut((0, 1000, 0, 10**6), 1500, rng)
    rng.shuffle(items)
    clock = WorkClock()
    monkeypatch.setattr(time, "monotonic", clock)
    with clock.going():
        result = plan(items, alignment=1, time_limit=1)
    assert 1 < clock() < 1.1
    check_plan(items, result.offsets, result.size, alignment=1)
    assert result.lower_bound == 10**6 < result.size
    assert not result.optimal


@pytest.mark.parametrize("name", "ABCDEFGHIJK")
def test_challenging_instances_fit(name: str) -> None:
    items = load_challenging(name)
    result = plan(items, alignment=1, time_limit=30, capacity=CAPACITY)
    check_plan(items, result.offsets, result.size, alignment=1)
    assert result.size <= CAPACITY


def test_luby() -> None:
    assert [luby(position) for position in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]


@settings(deadline=None)
@given(interval_slices(20))
def test_a_sweep_is_a_plan(items: list[Slice]) -> None:
    for _, part in segments(items, 1):
        assert part.pairs == sum(map(len, part.neighbours))
        offsets = sweep(part)
        own = [Slice(*fields) for fields in zip(part.starts, part.ends, part.sizes, strict=True)]
        check_plan(own, offsets, height(part, offsets), alignment=1)
        assert part.peak <= height(part, offsets) <= sum(part.sizes)


def test_a_sweep_uses_what_was_freed() -> None:
    items = [Slice(0, 2, 5), Slice(0, 3, 5), Slice(0, 6, 5), Slice(3, 6, 10), Slice(4, 6, 1)]
    ((_, part),) = segments(items, 1)
    assert sweep(part) == [0, 5, 10, 0, 15]


@pytest.mark.parametrize("longest", [100, 4000])
def test_without_time_large_problems_are_swept(monkeypatch: pytest.MonkeyPatch, longest: int) -> None:
    """Where slices overlap hundreds of others each, heuristics take seconds, time limit or not."""
    draw = random.Random(0)
    starts = [draw.randrange(4000) for _ in range(6000)]
    items = [Slice(start, start + draw.randint(1, longest), draw.randint(1, 999)) for start in starts]
    monkeypatch.setattr(driver, "heuristics", None)
    result = plan(items, alignment=1, time_limit=0)
    check_plan(items, result.offsets, result.size, alignment=1)
    assert result.method == "sweep"
    assert result.lower_bound <= result.size


def test_time_is_looked_at_between_heuristics(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    starts = [draw.randrange(4000) for _ in range(4000)]
    items = [Slice(start, start + draw.randint(1, 100), draw.randint(1, 999)) for start in starts]
    tried: list[str] = []

    def slow(problem: Problem) -> Iterator[tuple[str, list[int]]]:
        for name, offsets in heuristics(problem):
            tried.append(name)
            now.append(now[-1] + 1)
            yield name, offsets

    now = [0.0]
    monkeypatch.setattr(driver, "heuristics", slow)
    monkeypatch.setattr(time, "monotonic", lambda: now[-1])
    result = plan(items, alignment=1, time_limit=2)
    check_plan(items, result.offsets, result.size, alignment=1)
    assert len(tried) == 2
