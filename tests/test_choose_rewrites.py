"""The search over sets of rewrites, on arenas that are given and not compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from serenity_mlir.pipelines.choose_rewrites import choose_rewrites
from serenity_mlir.pipelines.rewrite_stages import NONE, Keys
from serenity_mlir.pipelines.rewrite_trials import Trials
from serenity_mlir.report import OUT_OF_TIME

REWRITES = ["split at a", "narrow at b"]
REGIONS = [f"region at {name}" for name in "cdef"]


class GivenArenas:
    """Sites of two stages, whose arenas a function gives."""

    balanced = True

    def __init__(self, arena: Callable[[Keys], float], sites: Sequence[str] = (*REWRITES, *REGIONS)) -> None:
        self.sites = list(sites)
        self.apart = NONE
        self.steps: dict[str, float] = {}
        self.given = arena
        self.arenas: dict[Keys, float] = {}
        self.left: list[object] = []
        self.faults: dict[Keys, str] = {}
        self.hopeless = NONE
        self.prices: dict[Keys, object] = {}
        self.slowed = dict.fromkeys(self.sites, 0.0)
        self.left_of: dict[Keys, int] = {}

    def arena(self, keys: Keys) -> float:
        return self.arenas.setdefault(keys, self.given(keys))

    def peak_stays(self, _base: Keys, _added: Keys) -> bool:
        return False

    def rest(self, _base: Keys, keys: Keys) -> int:
        return self.left_of.get(keys, 0)

    def above(self, _base: Keys, size: float, keys: Sequence[str]) -> Keys:
        return Keys(key for key in keys if self.steps[key] > size)

    def latency(self, _keys: Keys) -> float:
        return 1.0

    def earlier_stages(self, sites: Sequence[str]) -> Iterator[list[str]]:
        yield [key for key in sites if key in REWRITES]


def chosen(arena: Callable[[Keys], float], time_limit: float = 60.0) -> tuple[set[str], int | None]:
    trials = cast(Trials, GivenArenas(arena))
    choice = choose_rewrites(trials, time_limit=time_limit, progress=lambda _stage: None)
    return set(choice.taken), choice.after


def test_regions_do_not_keep_the_search_from_what_rewrites_alone_lead_to() -> None:
    def arena(keys: Keys) -> float:
        if keys == Keys(REWRITES):
            return 100  # only both together, and without any region
        regions = len(keys & Keys(REGIONS))
        return 1000 - 10 * regions + (300 if keys & Keys(REWRITES) else 0)

    # From all at once the search drops the rewrites one by one, and one alone never pays.
    assert chosen(arena) == (set(REWRITES), 100)


def test_what_does_not_help_is_left_out() -> None:
    assert chosen(lambda keys: 1000 - 100 * ("region at c" in keys)) == ({"region at c"}, 900)


def test_without_time_the_result_is_no_larger_than_the_program_as_it_was() -> None:
    _, after = chosen(lambda keys: 1000 + len(keys), time_limit=0.0)
    assert after == 1000


def test_what_time_did_not_allow_is_said() -> None:
    def arena(keys: Keys) -> float:
        return 1000 - 100 * (keys == Keys(REWRITES))

    reasons: list[set[str]] = []
    for limit in (0.0, 60.0):
        trials = cast(Trials, GivenArenas(arena))
        choice = choose_rewrites(trials, time_limit=limit, progress=lambda _stage: None)
        reasons.append({item.reason for item in choice.considered})
    assert OUT_OF_TIME in reasons[0]
    assert OUT_OF_TIME not in reasons[1]


def test_no_pattern_waits_for_all_sites_of_another() -> None:
    sites = [*(f"reuse at {number}" for number in range(40)), "pad at x"]
    trials = GivenArenas(lambda keys: 1000 - 500 * ("pad at x" in keys), sites)
    trials.slowed["pad at x"] = 1.0  # of those that cost nothing there are many, and none of them helps
    choice = choose_rewrites(cast(Trials, trials), time_limit=60.0, progress=lambda _stage: None)
    assert set(choice.taken) == {"pad at x"}
    assert list(trials.arenas).index(Keys(["pad at x"])) < 6


def test_what_touches_most_of_the_peak_is_tried_first() -> None:
    sites = [f"pad at {number}" for number in range(40)]
    trials = GivenArenas(lambda keys: 1000 - 500 * (keys == Keys(["pad at 30"])), sites)
    trials.left_of = {Keys([key]): 900 for key in sites} | {Keys(["pad at 30"]): 100}
    choose_rewrites(cast(Trials, trials), time_limit=60.0, progress=lambda _stage: None)
    assert list(trials.arenas)[2] == Keys(["pad at 30"])


def striped(arena: Callable[[Keys], float], steps: dict[str, float]) -> set[str]:
    """The sites that are chosen of those that may touch steps so high."""
    trials = GivenArenas(arena, list(steps))
    trials.apart, trials.steps = Keys(steps), steps
    choice = choose_rewrites(cast(Trials, trials), time_limit=60.0, progress=lambda _stage: None)
    return set(choice.taken)


def test_stripes_of_all_places_that_are_as_high_are_taken_at_once() -> None:
    steps = {f"stripe at {number}": 1000.0 for number in range(8)} | {"stripe at low": 300.0}

    def arena(keys: Keys) -> float:
        return 400 if len(keys - {"stripe at low"}) == 8 else 1000  # none of them helps without the others

    assert striped(arena, steps) == {f"stripe at {number}" for number in range(8)}


def test_other_rewrites_are_tried_beside_stripes() -> None:
    def arena(keys: Keys) -> float:
        return 300 if keys >= {"stripe at a", "pad at b"} else 600 if "stripe at a" in keys else 1000

    trials = GivenArenas(arena, ["pad at b", *(f"pad at {name}" for name in "cdefg"), "stripe at a"])
    trials.apart, trials.steps = Keys(["stripe at a"]), {"stripe at a": 1000.0}
    trials.slowed["pad at b"] = 1.0  # not among those that are tried all at once
    choice = choose_rewrites(cast(Trials, trials), time_limit=60.0, progress=lambda _stage: None)
    assert set(choice.taken) == {"stripe at a", "pad at b"}


def test_the_level_falls_as_long_as_the_arena_does() -> None:
    steps = {f"stripe at {name}": size for name, size in (("a", 1000.0), ("b", 800.0), ("c", 500.0))}

    def arena(keys: Keys) -> float:
        return max([200.0, *(size for key, size in steps.items() if key not in keys)])

    assert striped(arena, steps) == set(steps)


def test_one_place_is_taken_where_all_together_take_too_long() -> None:
    steps = {"accumulate at a": 1000.0, "stripe at b": 1000.0}

    def arena(keys: Keys) -> float:
        return float("inf") if len(keys) == 2 else 600 if "accumulate at a" in keys else 1000

    assert striped(arena, steps) == {"accumulate at a"}


def test_a_stripe_alone_is_taken_where_the_cascade_at_its_place_needs_more() -> None:
    steps = {"cascade at a": 1000.0, "stripe at a": 1000.0, "cascade at b": 900.0, "stripe at b": 900.0}

    def arena(keys: Keys) -> float:
        first = 700 if "cascade at a" in keys else 300 if "stripe at a" in keys else 1000
        second = 300 if "cascade at b" in keys else 600 if "stripe at b" in keys else 900
        return max(first, second)

    assert striped(arena, steps) == {"stripe at a", "cascade at b"}


def test_where_several_places_are_as_high_all_that_may_help_are_tried_at_once() -> None:
    sites = [f"pad at {number}" for number in range(40)]
    trials = GivenArenas(lambda keys: 1000 - 500 * (keys == Keys(sites)), sites)
    trials.slowed = dict.fromkeys(sites, 1.0)  # or all of them at once would be where the search begins
    choice = choose_rewrites(cast(Trials, trials), time_limit=60.0, progress=lambda _stage: None)
    assert choice.after == 500
    assert list(trials.arenas)[2] == Keys(sites)
