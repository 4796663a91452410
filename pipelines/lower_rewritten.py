"""Rewriting where it saves memory, and lowering of what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from serenity_mlir.dialect_passes.flow.compute_in_stripes import FEW, MANY, QUEUED
from serenity_mlir.pipelines.attempts import crashes, given_up, trying
from serenity_mlir.pipelines.choose_rewrites import Choice, choose_rewrites
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.pipelines.iree_types import CompilerError
from serenity_mlir.pipelines.lower import Lowered, lower_to
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.phases import PHASES
from serenity_mlir.pipelines.rewrite_stages import DISPATCHES, REWRITES, Keys, Stage, region_stage
from serenity_mlir.pipelines.rewrite_trials import Trials

_ATTEMPTS = 4
"""How often sites that IREE cannot compile are left out and others chosen, before all are left alone."""

_LEFT_OUT = "the rewrites that led there are left out"


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """Which rewrites may be chosen.

    Attributes:
        ops: Whether the model's own ops may be rewritten.
        regions: Whether dispatch regions may be formed.
        exact: Only what leaves results bit-identical.
        balanced: Nothing that is modelled to make an inference more than a tenth slower.
        time_limit: Seconds of processor time for the choice.
        dispatch: Multiply-accumulates that take as long as one more dispatch.
    """

    ops: bool = True
    regions: bool = True
    exact: bool = False
    balanced: bool = True
    time_limit: float = 20.0
    dispatch: float = QUEUED

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What is asked for, in the order of IREE's phases."""
        few = self.balanced and self.dispatch >= QUEUED  # where dispatches are cheap, many cost no more
        regions = (region_stage(FEW if few else MANY, self.dispatch), DISPATCHES)
        return (*((REWRITES,) if self.ops else ()), *(regions if self.regions else ()))


@dataclass(frozen=True, slots=True)
class RewrittenLowering:
    """A program that is to be rewritten where that saves memory, and lowered.

    Attributes:
        program: It is spent.
        last: The phase to stop after, "stream" or later.
        rewriting: What may be chosen.
        options: Of order and arena.
        progress: Called with each stage.
        own: Bytes of the model's constants, which no choice may let grow.
    """

    program: Program
    last: str
    rewriting: RewriteOptions
    options: StreamOptions
    progress: Callable[[str], None]
    own: int

    def run(self) -> tuple[Program, Choice, Lowered | None]:
        """The program that was lowered, the choice, and what was found.

        Code generation has the last word: sites that IREE cannot compile are left out, and others chosen.

        Raises:
            CompilerError: IREE fails without rewrites too.
            CheckFailed: An independent check disproved our own work.
        """
        if PHASES.index(self.program.phase) < PHASES.index("input"):
            self.progress("compile with IREE")
            self.program.to_phase("input")
        crashed = crashes()
        notes = tuple(f"{item.what}; {_LEFT_OUT}" for item in crashed)
        banned = {key: item.what for item in crashed for key in item.suspects}
        choice = Choice({}, (), None, None, 0)
        if not given_up(crashed):
            with trying(()):
                rewritten, choice, lowered = self._tried()
            banned = {key: what for key, what in banned.items() if key not in choice.taken}
            if rewritten is not None:
                return rewritten, replace(choice.with_reasons(banned), notes=notes), lowered
        choice = replace(choice.without_any().with_reasons(banned), notes=notes)
        return self.program, choice, self._lowered(self.program)

    def _tried(self, *, evaluated: bool = False) -> tuple[Program | None, Choice, Lowered | None]:
        """The program with the chosen sites, lowered; None where none is chosen that IREE compiles.

        They are chosen without the values of constants; where those turn out to decide, again with them.
        """
        self.progress("choose rewrites")
        rewriting = self.rewriting
        trials = Trials(
            self.program.fork(),
            self.options,
            rewriting.stages,
            rewriting.exact,
            rewriting.balanced,
            self.own,
            evaluated,
        )
        choose = partial(choose_rewrites, trials, progress=self.progress)
        banned: dict[str, str] = {}
        choice = choose(time_limit=rewriting.time_limit)
        for attempt in range(_ATTEMPTS):
            if not choice.taken:
                break
            taken = Keys(choice.taken)
            unchanged = self.program.fork() if self.options.compare_stock else None
            try:
                with trying(taken):
                    rewritten = _applied(trials, taken)
                    lowered = self._lowered(rewritten, unchanged)
                if not evaluated and _is_worse(lowered, choice):
                    return self._tried(evaluated=True)
                return rewritten, choice.with_reasons(banned), lowered
            except CompilerError as error:
                self.program.diagnostics.clear()
                blamed = trials.blamed(error.message, taken) if attempt < _ATTEMPTS - 1 else taken
                banned |= dict.fromkeys(blamed, f"IREE does not compile it: {error.message}")
            choice = choose(time_limit=rewriting.time_limit / 2, banned=Keys(banned))
        return None, choice.with_reasons(banned), None

    def _lowered(self, program: Program, unchanged: Program | None = None) -> Lowered | None:
        return lower_to(program, self.last, self.options, self.progress, unchanged)


def _is_worse(lowered: Lowered | None, choice: Choice) -> bool:
    """Whether what came out takes more than the program without rewrites was found to."""
    arena = None if lowered is None else lowered.stream.final.arena
    return choice.before is not None and (arena is None or arena > choice.before)


def _applied(trials: Trials, taken: Keys) -> Program:
    """The program with the chosen sites, whose way there the trials may have kept."""
    rewritten = trials.applied(taken)
    trials.forget()
    return rewritten
