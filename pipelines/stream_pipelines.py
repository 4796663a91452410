"""IREE's pipelines of phase `stream`, as its driver runs them, and what stock comes to with them."""

from __future__ import annotations

from collections.abc import Sequence

from serenity_mlir.dialect_passes.flow.hidden_offsets import RevealOffsetsPass
from serenity_mlir.dialect_passes.stream.preserve_values import PreserveValuesPass
from serenity_mlir.dialect_passes.stream.separate_results import SeparateResultsPass
from serenity_mlir.dialect_passes.stream.serialize import SerializePass, StripSerializePass
from serenity_mlir.dialect_passes.stream.slab import slab
from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.iree_types import quoted
from serenity_mlir.report import Stock

TENSOR = "iree-stream-tensor-transformation-pipeline"
ASYNC = "iree-stream-async-transformation-pipeline"
ALLOCATE = "iree-stream-schedule-allocation"
CMD = "iree-stream-cmd-transformation-pipeline"
OPTIMIZE = "iree-stream-optimization-pipeline"
# What IREE's driver runs before the first and after the last of its pipelines.
VERIFY = "iree-util-verify-initialization-order"
CLEAN_UP = "iree-stream-cleanup-pipeline,symbol-dce"
# Favors with which ops may be regrouped into concurrent waves.
_CONCURRENT = ("max-concurrency", "min-peak-memory")
# Session flags that IREE's own driver hands to these pipelines as options.
_OPTIONS = {
    "optimize-bindings": "iree-scheduling-optimize-bindings",
    "initialization-mode": "iree-scheduling-initialization-mode",
    "parameter-encoder-mode": "iree-parameter-encoder-mode",
    "parameter-encoder-output-file": "iree-parameter-encoder-output-file",
    "parameter-encoder-output-scope": "iree-parameter-encoder-output-scope",
}


def place_results(program: Program, run: Runner) -> None:
    """IREE's async pipeline, one op at a time, which decides what is in place; what it must not be is not."""
    SerializePass().apply(program.module)
    run(program, ASYNC)
    SeparateResultsPass().apply(program.module)
    PreserveValuesPass().apply(program.module)
    StripSerializePass().apply(program.module)


def started(program: Program) -> Runner:
    """What runs pipelines on a program whose executables are told apart: offsets need not be hidden now."""
    RevealOffsetsPass().apply(program.module)
    return Runner(program.session)


class Runner:
    """Runs a stream pipeline with the options that IREE's driver would give it."""

    def __init__(self, session: Session) -> None:
        given = {key: session.flag(flag) for key, flag in _OPTIONS.items()}
        self.options = " ".join(f"{key}={quoted(value)}" for key, value in given.items() if value)

    def __call__(self, program: Program, pipeline: str) -> None:
        """Run one of this module's pipelines.

        Raises:
            CompilerError: IREE failed.
        """
        program.run(pipeline if pipeline == ALLOCATE else f"{pipeline}{{{self.options}}}")


def measured_stock(program: Program, unchanged: Program | None, run: Runner) -> dict[str, int | None]:
    """Transient bytes that stock IREE allocates, by partitioning favor; None where a size is no constant.

    Args:
        program: At the start of phase `stream`, its tensors transformed.
        unchanged: The program without our rewrites at the end of phase `flow`, where it has any; it is spent.
            Where it has none, favor "debug" is left out: `program` comes by there later on.
        run: Of the program.

    Raises:
        CompilerError: IREE failed.
    """
    if unchanged is None:
        return _stock_slabs(program, run, _CONCURRENT)
    run(unchanged, TENSOR)
    return _stock_slabs(unchanged, run, (*_CONCURRENT, "debug"))


def _stock_slabs(program: Program, run: Runner, favors: Sequence[str]) -> dict[str, int | None]:
    """What stock IREE allocates under each partitioning favor."""
    found: dict[str, int | None] = {}
    for favor in favors:
        fork = program.fork()
        SerializePass(favor=favor).apply(fork.module)
        run(fork, ASYNC)
        StripSerializePass().apply(fork.module)
        run(fork, CMD)
        found[favor] = slab(fork.module).model
        fork.close()
    return found


def stock_figures(found: dict[str, int | None]) -> Stock:
    """The figures of a report, of bytes by favor: all three of IREE's, "debug" among them."""
    known = [value for value in found.values() if value is not None]
    return Stock(
        max_concurrency=found["max-concurrency"],
        min_peak_memory=found["min-peak-memory"],
        debug=found["debug"],
        best=min(known) if len(known) == len(found) else None,
    )
