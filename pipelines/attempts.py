"""What a worker tries that it could do without, so that what crashes is not tried again.

Native code may crash on a program that only our rewrites lead to. The worker notes what it is trying;
the process that contains it starts another one, which leaves that out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.cli.ending import ending
from serenity_mlir.pipelines.scratch import VARIABLE, forget_end

_TRYING, _CRASHES = "trying", "crashes"
_LIMIT = 4
"""Crashes after which nothing is tried any more."""


@dataclass(frozen=True, slots=True)
class Crash:
    """An attempt that ended a worker.

    Attributes:
        suspects: Keys of the rewrites that may be at fault; none where it was no single attempt.
        what: What happened: "the compiler crashed (SIGSEGV) during 'choose rewrites'".
    """

    suspects: frozenset[str]
    what: str


@contextmanager
def trying(keys: Collection[str]) -> Iterator[None]:
    """Note that these rewrites are tried, until that ends in order.

    Outside a contained command nothing is noted.
    """
    note = _note()
    if note is None:
        yield
        return
    outer = note.read_bytes() if note.exists() else None
    note.write_text(json.dumps(sorted(keys)))
    try:
        yield
    except SerenityError:
        _restore(note, outer)
        raise
    _restore(note, outer)


def crashes() -> list[Crash]:
    """The attempts that ended earlier workers of this command."""
    note = _note()
    file = None if note is None else note.with_name(_CRASHES)
    if file is None or not file.exists():
        return []
    found = map(json.loads, file.read_text().splitlines())
    return [Crash(frozenset(item["suspects"]), item["what"]) for item in found]


def given_up(found: Collection[Crash]) -> bool:
    """Whether nothing is to be tried any more."""
    return len(found) >= _LIMIT or any(not item.suspects for item in found)


def without_attempt(status: int, scratch: Path) -> str | None:
    """Prepare another worker, where one with that exit status died of something that it could do without.

    Returns:
        What happened; None where another worker would end the same way.
    """
    note = scratch / _TRYING
    found = ending(status, scratch)
    if found is None or not note.exists():
        return None
    crash = {"suspects": json.loads(note.read_text()), "what": found.what}
    with (scratch / _CRASHES).open("a") as file:
        file.write(json.dumps(crash) + "\n")
    note.unlink()
    forget_end(scratch)
    return found.what


def _note() -> Path | None:
    folder = os.environ.get(VARIABLE)
    return Path(folder, _TRYING) if folder else None


def _restore(note: Path, outer: bytes | None) -> None:
    if outer is None:
        note.unlink()
    else:
        note.write_bytes(outer)
