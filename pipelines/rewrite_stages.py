"""Where in IREE's phases rewrites are looked for, and how a program with chosen ones gets there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from serenity_mlir.dialect_passes.flow import compute_in_stripes
from serenity_mlir.dialect_passes.flow.patterns import DISPATCH_PATTERNS
from serenity_mlir.dialect_passes.flow.patterns import PATTERNS as REGION_PATTERNS
from serenity_mlir.dialect_passes.linalg.patterns import PATTERNS as LINALG_PATTERNS
from serenity_mlir.dialect_passes.linalg.rewrite import Find, apply_sites
from serenity_mlir.dialect_passes.tensors.hoisted_constants import forget_hoisted
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.pipelines.phases import PHASES

Keys = frozenset[str]
NONE: Keys = frozenset()


@dataclass(frozen=True, slots=True)
class Stage:
    """The rewrites that apply at the end of one of IREE's phases, in their order.

    Attributes:
        phase: Its name.
        patterns: Whose sites are looked for where all earlier ones are applied.
        apart: Those of which a chosen site comes first, and leaves none of the other patterns' where it is.
    """

    phase: str
    patterns: tuple[Find, ...]
    apart: tuple[Find, ...] = ()


_REGIONS = "global-optimization"

REWRITES = Stage("input", LINALG_PATTERNS)
DISPATCHES = Stage("dispatch-creation", DISPATCH_PATTERNS)


def region_stage(stripes: int, dispatch: float) -> Stage:
    """The choices of what runs in one dispatch, with results in about so many stripes.

    Args:
        stripes: Parts of a result.
        dispatch: Multiply-accumulates that take as long as one more dispatch.
    """
    in_stripes = partial(compute_in_stripes.find, stripes=stripes, dispatch=dispatch)
    return Stage(_REGIONS, REGION_PATTERNS, (in_stripes,))


def apply_stage(program: Program, stage: Stage, keys: Keys, *, evaluated: bool = True) -> None:
    """Bring a program through a stage's phase, and apply the sites that are chosen there.

    Args:
        program: To which they apply.
        stage: Where they apply.
        keys: Those chosen, and any others.
        evaluated: As for `advance`.

    Raises:
        CompilerError: IREE failed on the way.
    """
    advance(program, stage.phase, evaluated=evaluated)
    for find in (*stage.apart, *stage.patterns):
        apply_sites(program.module, find, keys)
    program.verify()


def advance(program: Program, phase: str, *, evaluated: bool) -> None:
    """Bring a program to the end of `phase`, where it is not there yet.

    Args:
        program: At that phase or before it.
        phase: One of `PHASES`.
        evaluated: Whether constants get the values that IREE computes; without, it can only be measured.

    Raises:
        CompilerError: IREE failed on the way.
    """
    before, at, to = (PHASES.index(name) for name in (program.phase, _REGIONS, phase))
    if not evaluated and before < at <= to:
        with program.session.unevaluated() as left:
            program.to_phase(_REGIONS)
        if left:
            forget_hoisted(program.module)
    if program.phase != phase:
        program.to_phase(phase)
