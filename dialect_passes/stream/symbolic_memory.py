"""Byte-addressed memory that holds terms instead of values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field

# Pieces `(start, end, term, offset)` in ascending order, `start` and `end` relative to the
# range: bytes `offset…` of what `term` stands for, UNIFORM where all its bytes are alike.
UNIFORM = -1
# The term of bytes of a slice that nobody has written: what they hold does not matter.
UNDEFINED = -1
Content = tuple[tuple[int, int, int, int], ...]


@dataclass
class Terms:
    """Hash-consing: equal terms get equal numbers."""

    numbers: dict[tuple[Hashable, ...], int] = field(default_factory=dict)

    def intern(self, *term: Hashable) -> int:
        """The number of `term`."""
        return self.numbers.setdefault(term, len(self.numbers))


class Memory:
    """One storage. Bytes that nobody has written hold the term `initial`, or UNDEFINED."""

    def __init__(self, initial: int) -> None:
        self.initial = initial
        self._starts: list[int] = []
        self._pieces: list[tuple[int, int, int, int]] = []

    def read(self, start: int, end: int) -> Content:
        """What the bytes `start…end` hold."""
        out: list[tuple[int, int, int, int]] = []
        at = start
        for left, right, term, offset in self._pieces[self._first(start) :]:
            if left >= end:
                break
            left_cut, right_cut = max(left, start), min(right, end)
            if left_cut > at:
                out.append((at - start, left_cut - start, self.initial, self._blank(at)))
            if right_cut > left_cut:
                out.append((left_cut - start, right_cut - start, term, _shifted(offset, left_cut - left)))
                at = right_cut
        if at < end:
            out.append((at - start, end - start, self.initial, self._blank(at)))
        return _joined(out)

    def write(self, start: int, end: int, content: Content) -> None:
        """Put `content`, as `read` returns it, into the bytes `start…end`."""
        if start >= end:
            return
        first = self._first(start)
        last = bisect_left(self._starts, end)
        new = [(start + left, start + right, term, offset) for left, right, term, offset in content]
        for left, right, term, offset in self._pieces[first:last]:
            if left < start:
                new.insert(0, (left, start, term, offset))
            if right > end:
                new.append((end, right, term, _shifted(offset, end - left)))
        self._pieces[first:last] = new
        self._starts[first:last] = [piece[0] for piece in new]

    def everything(self) -> Content:
        """Pieces that hold something else than they did at first, and what the rest holds, length 0."""
        pieces = _joined(self._pieces)
        changed = (item for item in pieces if (item[2], item[3]) != (self.initial, self._blank(item[0])))
        return (*changed, (0, 0, self.initial, 0))

    def replace(self, term: int) -> None:
        """Let all bytes hold `term`."""
        self.initial = term
        self._starts, self._pieces = [], []

    def _blank(self, offset: int) -> int:
        return UNIFORM if self.initial == UNDEFINED else offset

    def _first(self, start: int) -> int:
        """Index of the first piece that may reach beyond `start`."""
        index = bisect_right(self._starts, start) - 1
        return index if index >= 0 and self._pieces[index][1] > start else index + 1


def _joined(pieces: list[tuple[int, int, int, int]]) -> Content:
    """Neighbours that are parts of one term next to each other become one piece."""
    out: list[tuple[int, int, int, int]] = []
    for left, right, term, offset in pieces:
        if out:
            before = out[-1]
            if before[1] == left and before[2] == term and _shifted(before[3], left - before[0]) == offset:
                out[-1] = (before[0], right, term, before[3])
                continue
        out.append((left, right, term, offset))
    return tuple(out)


def refines(content: Content, expected: Content) -> bool:
    """Whether `content` is `expected` wherever that is defined; both cover the same bytes."""
    for left, right, term, offset in expected:
        if left == right and (left, right, term, offset) not in content:
            return False
        if term == UNDEFINED:
            continue
        for inner_left, inner_right, inner_term, inner_offset in content:
            low, high = max(left, inner_left), min(right, inner_right)
            if low < high and (
                inner_term != term or _shifted(inner_offset, low - inner_left) != _shifted(offset, low - left)
            ):
                return False
    return True


def _shifted(offset: int, by: int) -> int:
    return offset if offset == UNIFORM else offset + by
