"""Bodies of `stream.async.execute` in which several ops read one splat, as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st
from stream_text import TRANSIENT, dispatch, in_bytes, program_of, typed

from serenity_mlir.pipelines.iree_api import Program


@dataclass(frozen=True)
class Fills:
    """Values, each made from earlier ones, some with the help of a splat.

    Attributes:
        sizes: Of the values, in units of 64 bytes.
        parents: For each value the earlier ones that it is made from; none means from the input.
        fill: Units of the splat.
        users: The values that are made with it.
        groups: For each of `users` which splat it takes; those of one number share it.
        written: Whether the last of them is made in place of its splat.
    """

    sizes: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    fill: int
    users: tuple[int, ...]
    groups: tuple[int, ...]
    written: bool

    def program(self) -> Program:
        """The body as a module."""
        return program_of(max(self.fill, *self.sizes), self._body(), [("%j", 1)])

    def _body(self) -> Iterator[str]:
        splats = {user: f"%s{group}" for user, group in zip(self.users, self.groups, strict=True)}
        for name in sorted(set(splats.values())):
            yield f"{name} = stream.async.splat %zero : i8 -> {typed(TRANSIENT, self.fill)}"
        sizes = list(self.sizes)
        for number, parents in enumerate(self.parents):
            given = [(f"%v{parent}", TRANSIENT, sizes[parent]) for parent in parents]
            made = typed(TRANSIENT, sizes[number])
            if number in splats:
                given.append((splats[number], TRANSIENT, self.fill))
            if self.written and number == self.users[-1]:
                made, sizes[number] = f"{splats[number]}{{{in_bytes(self.fill)}}}", self.fill
            yield dispatch(f"%v{number}", f"make{number}", given, made)
        everything = [(f"%v{number}", TRANSIENT, size) for number, size in enumerate(sizes)]
        used = {parent for parents in self.parents for parent in parents}
        ends = [item for number, item in enumerate(everything) if number not in used]
        yield dispatch("%j", "end", ends, "!stream.resource<external>{%c64}")


@st.composite
def fills(draw: st.DrawFn) -> Fills:
    """Four to seven values, two to four of them made with one splat."""
    count = draw(st.integers(4, 7))
    sizes = tuple(draw(st.sampled_from((1, 6, 2))) for _ in range(count))
    parents = [draw(st.sampled_from([(number - 1,), (number - 1,), ()])) for number in range(1, count)]
    users = {0, count - 1, *draw(st.sets(st.integers(1, count - 2), max_size=2))}
    return Fills(sizes, ((), *parents), 4, tuple(sorted(users)), (0,) * len(users), draw(st.booleans()))
