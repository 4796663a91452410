"""Near misses: what a wrong name was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(wrong: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest of `known`, or None where nothing is near."""
    near = difflib.get_close_matches(wrong, list(known), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else None


def hint_of(wrong: str, known: Iterable[str], listing: str) -> str:
    """The nearest of `known`, where there is one, and then all of them after `listing`."""
    names = sorted(known)
    near = did_you_mean(wrong, names)
    every = f"{listing} {', '.join(names)}"
    return f"{near} {every}" if near else every
