"""Text of a function with one `stream.async.execute`; sizes count in units of 64 bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.parse_mlir import parse_module
from serenity_mlir.pipelines.targets import compiler_flags

TRANSIENT, EXTERNAL = "!stream.resource<transient>", "!stream.resource<external>"
UNIT = 64


def in_bytes(units: int) -> str:
    """The constant that is so many units in bytes."""
    return f"%c{units * UNIT}"


def typed(kind: str, units: int) -> str:
    """A resource type with its size."""
    return f"{kind}{{{in_bytes(units)}}}"


def dispatch(result: str, name: str, given: Sequence[tuple[str, str, int]], made: str) -> str:
    """A dispatch that reads all of each `(value, kind, units)`, or else all of the input."""
    given = given or [("%arg", EXTERNAL, 1)]
    operands = ", ".join(f"{value}[%c0 to {in_bytes(size)} for {in_bytes(size)}]" for value, _, size in given)
    types = ", ".join(typed(kind, size) for _, kind, size in given)
    return f"{result} = stream.async.dispatch @ex::@{name}({operands}) : ({types}) -> {made}"


def program_of(largest: int, body: Iterable[str], results: Sequence[tuple[str, int]]) -> Program:
    """A module whose body reads `%arg`, one unit, and yields `results`, values with their units.

    Constants of up to `largest` units are there, and `%zero`, a byte.
    """
    types = ", ".join(typed(EXTERNAL, units) for _, units in results)
    untyped = ", ".join(EXTERNAL for _ in results)
    made = ", ".join(f"%out#{number}" for number in range(len(results)))
    lines = [
        f"util.func public @f(%in: {EXTERNAL}) -> ({untyped}) {{",
        *(f"{in_bytes(number)} = arith.constant {number * UNIT} : index" for number in range(largest + 1)),
        "%zero = arith.constant 0 : i8",
        f"%out:{len(results)}, %tp = stream.async.execute with(%in as %arg: {typed(EXTERNAL, 1)})",
        f"-> ({types}) {{",
        *body,
        f"stream.yield {', '.join(name for name, _ in results)} : {types}",
        "} => !stream.timepoint",
        f"%r:{len(results)} = stream.timepoint.await %tp => {made} : {types}",
        f"util.return {made.replace('out', 'r')} : {untyped}",
        "}",
    ]
    session = Session(compiler_flags("generic", ()))
    return session.program(parse_module(session, "\n".join(lines).encode(), file="<stdin>"))
