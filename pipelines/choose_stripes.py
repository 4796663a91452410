"""Which reductions to compute in stripes, beside the rewrites that are chosen already."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

from serenity_mlir.dialect_passes.flow.compute_in_stripes import PLANNERS
from serenity_mlir.pipelines.rewrite_stages import Keys
from serenity_mlir.pipelines.rewrite_trials import Trials
from serenity_mlir.subsets import shrunk

_STEP = 0.85
"""By which the level falls above which nothing is to be live."""

_RIVALS = tuple(PLANNERS)[:-1]
"""Patterns that take the place of the last one, where both are chosen for one reduction."""


def striped(trials: Trials, best: Keys, stripes: Sequence[str], deadline: float) -> Keys:
    """`best`, with stripes of what runs while most is live if that makes the arena smaller.

    Many places may be as high as the peak, so that none of them alone helps: all above a level are taken at
    once. The level falls as long as the arena falls below it. What can be left out again is.

    Args:
        trials: The program's sites.
        best: Other sites, which stay chosen.
        stripes: What to choose from.
        deadline: By `time.process_time`.
    """

    def late() -> bool:
        return process_time() > deadline

    found = best
    while stripes and not late():
        lower = _pressed(trials, found, stripes, deadline)
        if not trials.arena(lower) < trials.arena(found):
            lower = _one_more(trials, found, stripes, deadline)
        if not trials.arena(lower) < trials.arena(found):
            break
        found = lower
    return shrunk(found, [key for key in stripes if key in found], trials.arena, late=late)


def _pressed(trials: Trials, best: Keys, stripes: Sequence[str], deadline: float) -> Keys:
    found, level, tried = best, trials.arena(best), {best}
    while process_time() < deadline and level != float("inf"):
        level *= _STEP
        near = best | trials.above(best, level, stripes)
        if near not in tried:
            tried.add(near)
            found = _least(trials, found, near)
            if trials.arena(found) > level:
                found = _least(trials, found, near - _rivals(near))
                top = trials.above(found, trials.arena(found) - 1, _rivals(found))
                found = _least(trials, found, found - top)
        if trials.arena(found) > level:
            return found
    return found


def _one_more(trials: Trials, best: Keys, stripes: Sequence[str], deadline: float) -> Keys:
    """With one of what runs at the peak, where all of that together takes too long or does not help."""
    near = trials.above(best, trials.arena(best) - 1, [key for key in stripes if key not in best])
    for key in sorted(near, key=lambda key: (trials.rest(best, Keys([key])), trials.slowed[key], key)):
        if process_time() > deadline or trials.arena(best | {key}) < trials.arena(best):
            return _least(trials, best, best | {key})
    return best


def _rivals(keys: Keys) -> Keys:
    return Keys(key for key in keys if key.partition(" at ")[0] in _RIVALS)


def _least(trials: Trials, *sets: Keys) -> Keys:
    return min(sets, key=lambda keys: (trials.arena(keys), len(keys)))
