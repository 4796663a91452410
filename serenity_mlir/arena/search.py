"""Depth-first search for offsets that fit a given capacity, with conflict-directed backjumping.

A plan is *canonical* if no slice can move down, be it by one unit or past others into a hole
that is large enough, and if of two equal slices the one earlier in the preorder lies lower.
Moving down lowers the sum of size x offset, so if any plan fits the capacity a canonical one
does, and only those are searched. (Canonical solutions, preorders and the bound by section are
due to Moffitt, "MiniMalloc", ASPLOS 2023; postponement and backjumping are not from there.)

Each slice has a lower bound on its offset. A slice whose bound no unplaced neighbour undercuts
is either placed there or *postponed*: something that is still to be placed lies in its way, so
it goes on top of such a neighbour at the earliest, and where no neighbour can be in the way the
branch is closed. In each section the unplaced slices must be stacked one above the other, each
from its own bound on: if that overshoots the capacity the branch fails. The decisions that each
bound rests on are kept as a bit set, so that a failure undoes the latest decision it rests on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from serenity_mlir.arena.preordered import Preordered
from serenity_mlir.arena.selection import SELECTIONS

NEVER = 1 << 62


class OutOfBudget(Exception):
    """The node limit or the deadline ends a search before it found or refuted anything."""


class Refuted(NamedTuple):
    """No plan fits; `next_capacity` is the smallest capacity at which the proof breaks down."""

    next_capacity: int


class _Range(NamedTuple):
    """A run of sections that no unplaced slice leaves, so that it can be solved by itself."""

    first: int
    last: int


class _Pending(NamedTuple):
    """A linked list of ranges to solve after the present one.

    Ranges are independent: once one is solved, no failure in the next can be blamed on the
    decisions in it, and `depth` is how many decisions stay open.
    """

    sections: _Range
    depth: int
    rest: _Pending | None


class _Decision(NamedTuple):
    """What there was before a slice was placed."""

    slice: int
    trail: int
    sections: _Range
    pending: _Pending | None


class Search:
    """One search of one problem at one capacity; `run` may be called once.

    Args:
        given: The problem, in preorder.
        capacity: Units that the plan must fit.
        selection: Which section to work on next, a key of `SELECTIONS`.

    Attributes:
        remaining: Units still to be placed in each section.
        floor: In each section no slice that is still to be placed can lie lower.
        ease: Falls by one, shared among the sections involved, with each failure.
        nodes: How many decisions were made.
        next_capacity: The smallest capacity at which some conflict so far would not have been one.
    """

    def __init__(self, given: Preordered, capacity: int, selection: str) -> None:
        count = len(given.sizes)
        self.given = given
        self.capacity = capacity
        self.remaining = list(given.totals)
        self.floor = [0] * len(given.totals)
        self.ease = [0.0] * len(given.totals)
        self.nodes = 0
        self.next_capacity = NEVER
        # What each section's stack reaches at most. A decision never lowers a stack, so that what was
        # true before one is undone is true after, and nothing need be restored.
        self._reach = [capacity + 1] * len(given.totals)
        self._select = SELECTIONS[selection]
        # A bound and the slice's number in one integer: sorting them sorts by bound, then preorder.
        self._bits = max(count, 1).bit_length()
        self._mask = (1 << self._bits) - 1
        self._placed = (capacity + sum(given.sizes) + 1) << self._bits
        self._keys = list(range(count))
        self._support = [0] * count
        self._offsets = [-1] * count
        self._why = [0] * count
        self._level = [0] * count
        self._crossings = list(given.crossings)
        self._trail: list[tuple[list[int], int, int]] = []
        self._decisions: list[_Decision] = []
        self._sections = _Range(0, len(given.totals))
        self._pending: _Pending | None = None
        self._conflict = 0
        self._deadline = 0.0
        for index, twin in enumerate(given.twin):
            if twin >= 0:
                self._keys[twin] += (self._keys[index] >> self._bits) + given.sizes[index] << self._bits
        self._root = [key >> self._bits for key in self._keys]

    def run(self, node_limit: int, deadline: float) -> list[int] | Refuted:
        """Offsets that fit, in the problem's own numbering, or the proof that there are none.

        Raises:
            OutOfBudget: after `node_limit` nodes or at `deadline` (of `time.monotonic`).
        """
        self._deadline = deadline
        consistent = self._tighten(0, len(self.floor), 0)
        while consistent or self._backjump():
            consistent = True
            index = self._choose()
            if index < 0:
                if self._pending is None:
                    return self._answer()
                self._sections, depth, self._pending = self._pending
                del self._decisions[depth:]
                continue
            self.nodes += 1
            if self.nodes > node_limit or time.monotonic() > self._deadline:
                raise OutOfBudget
            if self._support[index] == self._keys[index] >> self._bits:
                consistent = self._place(index)
            else:
                consistent = self._postpone(index, 0)
        return Refuted(self.next_capacity)

    def _answer(self) -> list[int]:
        offsets = [0] * len(self._offsets)
        for index, offset in zip(self.given.order, self._offsets, strict=True):
            offsets[index] = offset
        return offsets

    def _choose(self) -> int:
        """A slice whose bound no unplaced neighbour undercuts, -1 if all are placed."""
        remaining = self.remaining
        open_sections = [section for section in range(*self._sections) if remaining[section]]
        if not open_sections:
            return -1
        key_of = self._keys.__getitem__
        key = min(map(key_of, self.given.live[self._select(self, open_sections)]))
        while True:
            lower = min(map(key_of, self.given.neighbours[key & self._mask]), default=key)
            if lower >> self._bits >= key >> self._bits:
                return key & self._mask
            key = lower

    def _set(self, values: list[int], index: int, value: int) -> None:
        self._trail.append((values, index, values[index]))
        values[index] = value

    def _place(self, index: int) -> bool:
        """Put a slice at its bound; False, with the conflict noted, if that cannot be extended."""
        given, keys, support, why, bits = self.given, self._keys, self._support, self._why, self._bits
        trail, placed = self._trail, self._placed
        first, last, size = given.first[index], given.last[index], given.sizes[index]
        level = 1 << len(self._decisions)
        self._decisions.append(_Decision(index, len(trail), self._sections, self._pending))
        top = (keys[index] >> bits) + size
        self._set(self._offsets, index, top - size)
        self._set(keys, index, placed)
        self._level[index] = level
        for section in range(first, last):
            self._set(self.remaining, section, self.remaining[section] - size)
            self._set(self.floor, section, top)
        low, high = first, last
        for other in given.neighbours[index]:
            key = keys[other]
            if key < placed and support[other] < top:
                trail.append((support, other, support[other]))
                support[other] = top
                if key >> bits < top:
                    trail.append((keys, other, key))
                    keys[other] = top << bits | other
                    trail.append((why, other, why[other]))
                    why[other] |= level
                    low = min(low, given.first[other])
                    high = max(high, given.last[other])
        if not self._tighten(low, high, size):
            return False
        self._split(first, last)
        return True

    def _postpone(self, index: int, because: int) -> bool:
        """Bound a slice that does not lie at its support by the neighbours that can be in its way.

        `because` are the decisions that rule its support out. False, with the conflict noted,
        if that cannot be extended.
        """
        given, keys, bits, placed = self.given, self._keys, self._bits, self._placed
        size, neighbours = given.sizes[index], given.neighbours[index]
        first, last = given.first[index], given.last[index]
        reach = self._support[index] + size << bits
        bound = min(
            ((keys[other] >> bits) + given.sizes[other] for other in neighbours if keys[other] < reach),
            default=NEVER,
        )
        because |= self._why[index]
        for other in neighbours:
            if keys[other] == placed:
                because |= self._level[other]
            elif self._root[other] + given.sizes[other] < bound:
                because |= self._why[other]
        if bound + size > self.capacity:
            return self._fail(range(first, last), because, bound + size)
        delta = 0
        while index >= 0 and keys[index] >> bits < bound:
            delta = max(delta, bound - (keys[index] >> bits))
            self._set(keys, index, bound << bits | index)
            self._set(self._why, index, because)
            bound += size
            index = given.twin[index]
        return self._tighten(first, last, delta)

    def _tighten(self, first: int, last: int, delta: int) -> bool:
        """Stack what is to be placed in some sections; False, with the conflict noted, if one overshoots.

        `delta` is how far bounds in them were raised at most, and no stack rises by more. Those that
        failed most are looked at first, because every other call ends at a failure.
        """
        key_of, live, sizes = self._keys.__getitem__, self.given.live, self.given.sizes
        bits, mask, placed, capacity = self._bits, self._mask, self._placed, self.capacity
        remaining, floor, reach = self.remaining, self.floor, self._reach
        for section in sorted(range(first, last), key=self.ease.__getitem__):
            if not remaining[section]:
                continue
            if reach[section] + delta <= capacity:
                reach[section] += delta
                continue
            unplaced = sorted([key for key in map(key_of, live[section]) if key < placed])
            lowest = unplaced[0] >> bits
            if lowest > floor[section]:
                self._set(floor, section, lowest)
            # How high slices reach that lie one above the other, each from its bound on.
            top = 0
            for key in unplaced:
                bound = key >> bits
                top = (bound if bound > top else top) + sizes[key & mask]
            reach[section] = top
            if top > capacity:
                return self._fail(range(section, section + 1), self._blame(unplaced), top)
        return True

    def _blame(self, unplaced: Sequence[int]) -> int:
        """The decisions that a stack of slices rests on: those above its topmost gap."""
        top = because = 0
        bits, mask, sizes, why = self._bits, self._mask, self.given.sizes, self._why
        for key in unplaced:
            bound, index = key >> bits, key & mask
            if bound > top:
                top, because = bound, 0
            top += sizes[index]
            because |= why[index]
        return because

    def _fail(self, sections: range, because: int, needed: int) -> bool:
        """Note a conflict that holds at every capacity below `needed`; always False."""
        self._conflict = because
        self.next_capacity = min(self.next_capacity, needed)
        for section in sections:
            self.ease[section] -= 1 / len(sections)
        return False

    def _backjump(self) -> bool:
        """Undo decisions up to the last one to blame and postpone that slice; False if none is left."""
        while depth := self._conflict.bit_length():
            del self._decisions[depth:]
            index, trail, self._sections, self._pending = self._decisions.pop()
            while len(self._trail) > trail:
                values, position, value = self._trail.pop()
                values[position] = value
            if self._postpone(index, self._conflict & ~(1 << (depth - 1))):
                return True
        return False

    def _split(self, first: int, last: int) -> None:
        """Part the present range wherever no unplaced slice crosses any more, tightest part first."""
        cuts = [self._sections.first]
        for section in range(first, last - 1):
            self._set(self._crossings, section, self._crossings[section] - 1)
            if not self._crossings[section]:
                cuts.append(section + 1)
        if len(cuts) == 1:
            return
        cuts.append(self._sections.last)
        parts = [_Range(*ends) for ends in pairwise(cuts)]
        parts = sorted((part for part in parts if any(self.remaining[slice(*part)])), key=self._tightness)
        depth = len(self._decisions)
        for part in reversed(parts[1:]):
            self._pending = _Pending(part, depth, self._pending)
        self._sections = parts[0] if parts else _Range(0, 0)

    def _tightness(self, part: _Range) -> int:
        return min(self.slack(section) for section in range(*part) if self.remaining[section])

    def slack(self, section: int) -> int:
        """Units of a section that are neither taken nor needed by what is still to be placed in it."""
        return self.capacity - self.floor[section] - self.remaining[section]
