"""Rewriting where it saves memory, and lowering of what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from serenity_mlir.pipelines.choose_rewrites import Choice, apply_rewrites, choose_rewrites, without
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.pipelines.iree_types import CompilerError
from serenity_mlir.pipelines.lower import Lowered, lower_to
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.phases import PHASES


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """Which rewrites may be chosen.

    Attributes:
        exact: Only those that leave results bit-identical.
        time_limit: Seconds for the choice.
    """

    exact: bool = False
    time_limit: float = 20.0


def lower_rewritten(
    program: Program,
    last: str,
    rewriting: RewriteOptions,
    options: StreamOptions,
    progress: Callable[[str], None],
) -> tuple[Program, Choice, Lowered | None]:
    """Bring `program` to phase `last`, "stream" or later, rewritten where that saves memory.

    Code generation has the last word: where IREE cannot compile what was rewritten, the program is
    lowered without any of it, and the choice says so.

    Returns:
        The program that was lowered, the choice, and what was found.

    Raises:
        CompilerError: IREE fails without rewrites too.
        CheckFailed: An independent check disproved our own work.
    """
    if PHASES.index(program.phase) < PHASES.index("input"):
        program.to_phase("input")
    choice = choose_rewrites(
        program, options, exact=rewriting.exact, time_limit=rewriting.time_limit, progress=progress
    )
    if not choice.taken:
        return program, choice, lower_to(program, last, options, progress)
    original = program.fork()
    unchanged = program.fork() if options.compare_stock else None
    apply_rewrites(program.module, frozenset(choice.taken))
    try:
        return program, choice, lower_to(program, last, options, progress, unchanged)
    except CompilerError as error:
        program.diagnostics.clear()
        choice = without(choice, f"IREE does not compile it: {error.message}")
        return original, choice, lower_to(original, last, options, progress)
