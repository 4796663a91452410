"""Which rewrites are worth it: those without which the arena that IREE allocates would be larger.

The search is over sets of sites and stops at a time limit with the best set found; it is exhaustive
where there are few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from serenity_mlir.pipelines.rewrite_trials import NONE, Considered, Keys, Trials
from serenity_mlir.subsets import best_subset


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found.

    Attributes:
        taken: Keys of the sites to apply, each with the bytes that the arena would be larger by
            without it; None where the time limit came first.
        considered: What is left alone.
        before: The arena without rewrites; None where it has no constant size.
        after: With those taken.
        tried: Sets of sites whose arena was found out.
    """

    taken: dict[str, int | None]
    considered: tuple[Considered, ...]
    before: int | None
    after: int | None
    tried: int

    def without_any(self) -> Choice:
        """The choice with all of what was taken left alone."""
        return replace(self, taken={}, after=self.before)

    def with_reasons(self, reasons: Mapping[str, str]) -> Choice:
        """The choice with further sites among those left alone."""
        return replace(self, considered=(*self.considered, *(Considered(*item) for item in reasons.items())))


def choose_rewrites(
    trials: Trials, *, time_limit: float, progress: Callable[[str], None], banned: Keys = NONE
) -> Choice:
    """The smallest set of sites with the smallest arena, as far as time allows.

    Args:
        trials: The program's sites.
        time_limit: Seconds; sets of none and of all sites are tried even if that takes longer.
        progress: Called with the stage.
        banned: Sites that must not be taken.
    """
    sites = [key for key in trials.sites if key not in banned]
    if not sites:
        return Choice({}, tuple(trials.left), None, None, 0)
    progress("choose rewrites")
    deadline = perf_counter() + time_limit
    before = trials.arena(NONE)  # which also finds the schedules that bounds are taken from
    if trials.peak_stays(Keys(sites)):
        best = NONE
        trials.hopeless |= Keys(sites)
    else:
        best = _best(trials, sites, deadline)
    after = trials.arena(best)
    if not after < before:
        best, after = NONE, before
    taken = {key: _saved(trials, best, key) for key in sites if key in best}
    reasons = {key: _reason(trials, best, key) for key in sites if key not in best}
    left = (*trials.left, *(Considered(key, reason) for key, reason in reasons.items()))
    return Choice(taken, left, _bytes(before), _bytes(after), len(trials.arenas))


def _best(trials: Trials, sites: list[str], deadline: float) -> Keys:
    patterns = dict.fromkeys(_pattern(key) for key in sites)
    starts = [Keys(key for key in sites if _pattern(key) == pattern) for pattern in patterns]
    return best_subset(
        sites,
        trials.arena,
        late=lambda: perf_counter() > deadline,
        starts=starts if len(starts) > 1 else (),
    )


def _pattern(key: str) -> str:
    return key.partition(" at ")[0]


def _saved(trials: Trials, best: Keys, key: str) -> int | None:
    without = trials.arenas.get(best - {key})
    return None if without is None or without == float("inf") else int(without - trials.arena(best))


def _reason(trials: Trials, best: Keys, key: str) -> str:
    for keys in (best | {key}, Keys([key])):
        if keys in trials.faults:
            return f"IREE does not compile it: {trials.faults[keys]}"
    if key in trials.hopeless:
        return "the peak is that of ops that the rewrite cannot reach"
    if best | {key} in trials.arenas or Keys([key]) in trials.arenas:
        return "the arena would be no smaller"
    return "with the others the arena would be no smaller; it was not tried alone"


def _bytes(arena: float) -> int | None:
    return None if arena == float("inf") else int(arena)
