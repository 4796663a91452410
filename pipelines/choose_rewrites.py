"""Which rewrites are worth it: those without which the arena that IREE allocates would be larger.

The search is over sets of sites and stops at a time limit with the best set found; it is exhaustive
where there are few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from time import process_time

from serenity_mlir.pipelines.choose_stripes import striped
from serenity_mlir.pipelines.rewrite_stages import NONE, Keys
from serenity_mlir.pipelines.rewrite_trials import Considered, Price, Trials
from serenity_mlir.report import OUT_OF_TIME
from serenity_mlir.subsets import EXHAUSTIVE, best_subset, shrunk

_FIRST_STRIPES, _OTHERS = 0.25, 0.75
"""Shares of the time for stripes beside all other rewrites, and until the search for others ends."""


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
        notes: What else the reader of the report should know.
        price: Beside memory, without rewrites and with those taken; None where there was nothing to choose.
        latency: Modelled, as a multiple of that without rewrites.
    """

    taken: dict[str, int | None]
    considered: tuple[Considered, ...]
    before: int | None
    after: int | None
    tried: int
    price: tuple[Price, Price] | None = None
    latency: float = 1.0
    notes: tuple[str, ...] = ()

    def without_any(self) -> Choice:
        """The choice with all of what was taken left alone."""
        price = None if self.price is None else (self.price[0], self.price[0])
        return replace(self, taken={}, after=self.before, price=price, latency=1.0)

    def with_reasons(self, reasons: Mapping[str, str]) -> Choice:
        """The choice with further sites among those left alone, or other reasons for it."""
        others = (item for item in self.considered if item.key not in reasons)
        return replace(self, considered=(*others, *(Considered(*item) for item in reasons.items())))


def choose_rewrites(
    trials: Trials, *, time_limit: float, progress: Callable[[str], None], banned: Keys = NONE
) -> Choice:
    """The smallest set of sites with the smallest arena, as far as time allows.

    Args:
        trials: The program's sites.
        time_limit: Seconds of the processor, so that a busy machine comes as far as an idle one; sets of
            none and of all sites are tried even if that takes longer.
        progress: Called with the stage.
        banned: Sites that must not be taken.
    """
    sites = [key for key in trials.sites if key not in banned]
    if not sites:
        return Choice({}, tuple(trials.left), None, None, 0)
    progress("choose rewrites")
    began = process_time()
    deadline = began + time_limit
    stripes = [key for key in sites if key in trials.apart]
    others = [key for key in sites if key not in trials.apart]
    before = trials.arena(NONE)  # which also finds the schedules that bounds are taken from
    if trials.peak_stays(NONE, Keys(sites)):
        best = NONE
        trials.hopeless |= Keys(sites)
    else:
        best = _with_stripes(trials, others, stripes, (began, deadline))
    after = trials.arena(best)
    if not after < before:
        best, after = NONE, before
    taken = {key: _saved(trials, best, key) for key in sites if key in best}
    late = process_time() > deadline
    reasons = {key: _reason(trials, best, key, late=late) for key in sites if key not in best}
    left = (*trials.left, *(Considered(key, reason) for key, reason in reasons.items()))
    known = NONE in trials.prices and best in trials.prices
    return Choice(
        taken,
        left,
        _bytes(before),
        _bytes(after),
        len(trials.arenas),
        (trials.prices[NONE], trials.prices[best]) if known else None,
        trials.latency(best),
    )


def _with_stripes(trials: Trials, others: list[str], stripes: list[str], times: tuple[float, float]) -> Keys:
    """Stripes beside all other rewrites at once, or beside those of them that are best without stripes."""
    if not stripes:
        return _best(trials, others, times[1])
    began, deadline = times
    length = deadline - began

    def late() -> bool:
        return process_time() > deadline

    fast = _fast(trials, others)
    everything = NONE if trials.arena(fast) > trials.arena(NONE) else fast
    found = striped(trials, everything, stripes, began + _FIRST_STRIPES * length)
    best = _best(trials, others, began + _OTHERS * length) if others else NONE
    further = striped(trials, found if best == everything else best, stripes, deadline)
    found = _grown(trials, _better(trials, found, further), others, late)
    return shrunk(found, [key for key in (*others, *stripes) if key in found], trials.arena, late=late)


def _fast(trials: Trials, sites: list[str]) -> Keys:
    """Those that do not slow a program down, where it may not be."""
    return Keys(key for key in sites if not trials.balanced or not trials.slowed[key])


def _best(trials: Trials, sites: list[str], deadline: float) -> Keys:
    """All subsets of few sites; of many those that the search climbs to.

    That of the earlier stages alone is among them: with later ones to choose from no arena ends up larger
    than without, unless time runs out.
    """

    def late() -> bool:
        return process_time() > deadline

    if len(sites) <= EXHAUSTIVE:
        return best_subset(sites, trials.arena, late=late)
    best = _climbed(trials, sites, late)
    for early in trials.earlier_stages(sites):
        if late():
            break
        alone = _climbed(trials, early, late)
        if trials.arena(alone) < trials.arena(best):
            best = _grown(trials, alone, sites, late)
    return best


def _climbed(trials: Trials, sites: list[str], late: Callable[[], bool]) -> Keys:
    """The set of these sites that a search from all at once, from each pattern and from none leads to."""
    fast = _fast(trials, sites)
    best = _grown(trials, _better(trials, NONE, fast), sites, late)
    patterns = list(dict.fromkeys(_pattern(key) for key in sites))
    for pattern in patterns if len(patterns) > 1 else ():
        if late():
            break
        alone = _better(trials, best, Keys(key for key in sites if _pattern(key) == pattern))
        best = best if alone == best else _grown(trials, alone, sites, late)
    best = shrunk(best, [key for key in sites if key in best], trials.arena, late=late)
    if trials.balanced and not best.issubset(fast):  # what was left out may have used up the time
        best = _grown(trials, best, sites, late)
    return _better(trials, best, _grown(trials, NONE, sites, late)) if best else best


def _grown(trials: Trials, best: Keys, sites: list[str], late: Callable[[], bool]) -> Keys:
    """With further sites, one after another, of those alone that can lower the peak as it is then.

    Those come first without whose buffers the least is left of it. Where the first one does not help, all
    that may are tried at once before the others: several places can be as high.
    """
    while not late():
        further = [key for key in sites if key not in best]
        near = [key for key in further if not late() and not trials.peak_stays(best, Keys([key]))]
        near = _in_turn(sorted(near, key=trials.slowed.__getitem__))  # the budget of time goes furthest so
        near.sort(key=lambda key: trials.rest(best, Keys([key])))
        if not near and not trials.peak_stays(best, Keys(further)):
            near = further
        found = best
        first, *others = [Keys([key]) for key in near] or [NONE]
        for added in (first, Keys(near), *others):
            if late() or trials.arena(found) < trials.arena(best):
                break
            found = _better(trials, found, best | added)
        if found == best:
            return best
        best = found
    return best


def _in_turn(keys: list[str]) -> list[str]:
    """One of each pattern after another: none waits for all of another's, which may be many and no help."""
    patterns: dict[str, list[str]] = {}
    for key in keys:
        patterns.setdefault(_pattern(key), []).append(key)
    return [key for turn in zip_longest(*patterns.values()) for key in turn if key is not None]


def _better(trials: Trials, one: Keys, two: Keys) -> Keys:
    return min(one, two, key=lambda keys: (trials.arena(keys), len(keys)))


def _pattern(key: str) -> str:
    return key.partition(" at ")[0]


def _saved(trials: Trials, best: Keys, key: str) -> int | None:
    without = trials.arenas.get(best - {key})
    return None if without is None or without == float("inf") else int(without - trials.arena(best))


def _reason(trials: Trials, best: Keys, key: str, *, late: bool) -> str:
    for keys in (best | {key}, Keys([key])):
        if keys in trials.faults:
            return trials.faults[keys]
    if key in trials.hopeless:
        return "the peak is that of ops that the rewrite cannot reach"
    if best | {key} in trials.arenas or Keys([key]) in trials.arenas:
        return "the arena would be no smaller"
    return OUT_OF_TIME if late else "with the others the arena would be no smaller; it was not tried alone"


def _bytes(arena: float) -> int | None:
    return None if arena == float("inf") else int(arena)
