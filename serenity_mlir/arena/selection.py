"""Which section of a problem a search works on next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serenity_mlir.arena.search import Search

Selection = Callable[["Search", Sequence[int]], int]
"""The section to work on next; the arguments are the search and the sections that are not finished."""


def _lowest(search: Search, sections: Sequence[int]) -> int:
    """The lowest floor, as minimalloc has it; of several the one that failed most."""
    return min(_low(search, sections), key=search.ease.__getitem__)


def _level(search: Search, sections: Sequence[int]) -> int:
    """The lowest floor; of several the one with the least slack."""
    return max(_low(search, sections), key=search.remaining.__getitem__)


def _low(search: Search, sections: Sequence[int]) -> list[int]:
    floor = search.floor
    lowest = min(map(floor.__getitem__, sections))
    return [section for section in sections if floor[section] == lowest]


def _heaviest(search: Search, sections: Sequence[int]) -> int:
    """The section that failed most; of several the one with the least slack."""
    slack, ease = search.slack, search.ease
    return min(sections, key=lambda section: (ease[section], slack(section)))


def _tightest(search: Search, sections: Sequence[int]) -> int:
    """The least slack for each failure."""
    slack, ease = search.slack, search.ease
    return min(sections, key=lambda section: (slack(section) + 1) / (1 - ease[section]))


SELECTIONS: dict[str, Selection] = {
    "lowest": _lowest,
    "level": _level,
    "heaviest": _heaviest,
    "tightest": _tightest,
}
