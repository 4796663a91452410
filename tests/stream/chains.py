"""Bodies of `stream.async.execute` with a concat in place, as text: a chain of updates in a given order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st
from stream_text import EXTERNAL, TRANSIENT, dispatch, in_bytes, program_of, typed

from serenity_mlir.pipelines.iree_api import Program


@dataclass(frozen=True)
class Update:
    """Value `source` goes to the buffer's units from `start` on; `by_dispatch` writes through a tie."""

    source: int
    start: int
    by_dispatch: bool = False


@dataclass(frozen=True)
class Look:
    """After `after` updates something reads the buffer's units `start…end`."""

    after: int
    start: int
    end: int


@dataclass(frozen=True)
class Chain:
    """A body: values made from one another, of which some are put into one buffer.

    Attributes:
        sizes: Of the values, in units of 64 bytes.
        parents: For each value the earlier ones that it is made from; none means from the input.
        buffer: Units of the buffer.
        updates: In the order of the chain.
        looks: Readers of the buffer in the middle of it.
        external: Whether the buffer leaves the body.
    """

    sizes: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    buffer: int
    updates: tuple[Update, ...]
    looks: tuple[Look, ...] = ()
    external: bool = False

    def program(self) -> Program:
        """The body as a module."""
        out = self.buffer if self.external else 1
        last = f"%m{len(self.updates)}" if self.external else "%j"
        return program_of(max(self.buffer, *self.sizes), self._body(), [(last, out), ("%k", 1)])

    def _body(self) -> Iterator[str]:
        for number, parents in enumerate(self.parents):
            given = [(f"%v{parent}", TRANSIENT, self.sizes[parent]) for parent in parents]
            yield dispatch(f"%v{number}", f"make{number}", given, typed(TRANSIENT, self.sizes[number]))
        kind = EXTERNAL if self.external else TRANSIENT
        yield f"%m0 = stream.async.alloca : {typed(kind, self.buffer)}"
        for number, update in enumerate(self.updates):
            yield from self._looks(number, kind)
            yield self._update(number, update, kind)
        yield from self._looks(len(self.updates), kind)
        looked = [(f"%l{number}", TRANSIENT, 1) for number in range(len(self.looks))]
        yield dispatch("%k", "gather", looked, typed(EXTERNAL, 1))
        if not self.external:
            last = (f"%m{len(self.updates)}", kind, self.buffer)
            yield dispatch("%j", "end", [last], typed(EXTERNAL, 1))

    def _update(self, number: int, update: Update, kind: str) -> str:
        size = self.sizes[update.source]
        source, target = f"%v{update.source}", f"%m{number}"
        place = f"{target}[{in_bytes(update.start)} to {in_bytes(update.start + size)}"
        types = f"{typed(TRANSIENT, size)}, {typed(kind, self.buffer)}"
        if update.by_dispatch:
            given = f"{source}[%c0 to {in_bytes(size)} for {in_bytes(size)}], {place} for {in_bytes(size)}]"
            made = f"{target}{{{in_bytes(self.buffer)}}}"
            return f"%m{number + 1} = stream.async.dispatch @ex::@write({given}) : ({types}) -> {made}"
        return (
            f"%m{number + 1} = stream.async.update {source}, {place}] : {typed(TRANSIENT, size)} -> "
            f"{target} as {typed(kind, self.buffer)}"
        )

    def _looks(self, after: int, kind: str) -> Iterator[str]:
        for number, look in enumerate(self.looks):
            if look.after == after:
                start, end, length = map(in_bytes, (look.start, look.end, look.end - look.start))
                given = f"%m{after}[{start} to {end} for {length}]"
                result = f"({typed(kind, self.buffer)}) -> {typed(TRANSIENT, 1)}"
                yield f"%l{number} = stream.async.dispatch @ex::@look{number}({given}) : {result}"


@st.composite
def chains(draw: st.DrawFn, *, disjoint: bool) -> Chain:
    """Up to five values and four updates; where not `disjoint`, slices may overlap."""
    count = draw(st.integers(3, 5))
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)))
    parents = [draw(st.sampled_from([(), (number - 1,)])) for number in range(1, count)]
    sources = range(count - draw(st.integers(3, min(count, 4))), count)
    updates, start = [], 0
    for source in sources:
        updates.append(Update(source, start, draw(st.booleans())))
        start += sizes[source] if disjoint else draw(st.integers(0, sizes[source]))
    buffer = max(update.start + sizes[update.source] for update in updates)
    looks = []
    for _ in range(draw(st.integers(0, 1))):
        first = draw(st.integers(0, buffer - 1))
        looks.append(Look(draw(st.integers(1, len(updates))), first, draw(st.integers(first + 1, buffer))))
    ordered = tuple(draw(st.permutations(updates[::-1])))
    return Chain(sizes, ((), *parents), buffer, ordered, tuple(looks), draw(st.booleans()))
