"""`--search fusion`: the configuration of IREE's dispatch formation that needs the least memory.

What is fused into what decides which buffers there are and how long they live, and no one setting
is best: an Add that is fused into one producer makes that convolution run last, and a padding that is
fused into its consumer saves a padded copy, or costs the place that its producer wrote into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import msgspec

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import Compiled, CompileOptions, compile_model
from serenity_mlir.pipelines.iree_api import split_flags
from serenity_mlir.pipelines.iree_types import flag_name
from serenity_mlir.report import Candidate, Stock

SWITCHES = (
    "--iree-dispatch-creation-fuse-multi-use=false",
    "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops=true",
    "--iree-dispatch-creation-enable-aggressive-fusion=true",
    "--iree-opt-generalize-matmul=true",
)
"""Session flags of iree-compile, off by default; each was seen to lower the slab of some real network."""


@dataclass(frozen=True)
class _Tried:
    """A configuration, and the arena that it leads to; None where it has no constant size or fails."""

    flags: tuple[str, ...]
    arena: int | None
    stock: Stock | None = None


def compile_smallest(path: Path, options: CompileOptions) -> Compiled:
    """Compile the model at `path` under the configuration that leads to the smallest arena.

    IREE's default comes first, then each switch alone; switches that help are then added to one
    another, the best first. What IREE cannot compile to the end is not taken. Of equals the first
    is taken, so that IREE's default stays where nothing is gained.

    Args:
        path: The model.
        options: What to make of it; its flags win over the switches.

    Raises:
        SerenityError: As `compile_model`, where IREE's default fails too.
    """
    began = perf_counter()
    search = _Search(path, options)
    tried = search.run()
    stock = tried[0].stock
    chosen, compiled = search.first_that_compiles(tried)
    if compiled.report is None:
        return compiled
    report = msgspec.structs.replace(
        compiled.report,
        memory=msgspec.structs.replace(compiled.report.memory, stock=stock),
        seconds=msgspec.structs.replace(compiled.report.seconds, total=perf_counter() - began),
        search=[
            Candidate(list(item.flags), item.arena, item.flags == chosen, search.faults.get(item.flags, ""))
            for item in tried
        ],
    )
    return replace(compiled, report=report)


class _Search:
    def __init__(self, path: Path, options: CompileOptions) -> None:
        self.path = path
        self.options = options
        self.faults: dict[tuple[str, ...], str] = {}
        self._compiles: dict[tuple[str, ...], bool] = {}
        session, process = split_flags(options.iree_flags)
        # Flags of the process are set once, by the first compilation, and hold for all.
        self._flags: Sequence[str] = options.iree_flags
        self._later = session if process else options.iree_flags

    def run(self) -> list[_Tried]:
        """Everything that was tried, in the order in which it was."""
        given = {flag_name(flag) for flag in self.options.iree_flags}
        switches = [flag for flag in SWITCHES if flag_name(flag) not in given]
        tried = [self._try(())]
        singles = [self._try((flag,)) for flag in switches]
        tried += singles
        helpful = [item for item in singles if _arena(item) < _arena(tried[0]) and self._whole(item.flags)]
        helpful.sort(key=_arena)
        best = helpful[0] if helpful else tried[0]
        for item in helpful[1:]:
            tried.append(self._try((*best.flags, *item.flags)))
            best = min(best, tried[-1], key=_arena)
        return tried

    def first_that_compiles(self, tried: list[_Tried]) -> tuple[tuple[str, ...], Compiled]:
        """The best that IREE takes to the end, as it was asked for."""
        for item in sorted(tried, key=_arena):
            if not item.flags or self._whole(item.flags):
                return item.flags, self._compile(item.flags, self.options)
        raise RuntimeError("IREE's default is among those tried")

    def _whole(self, flags: tuple[str, ...]) -> bool:
        """Whether IREE compiles the model to the end; some that it cannot show it in code generation only."""
        if flags not in self._compiles:
            try:
                self._compile(flags, replace(self.options, emit="vmfb"))
            except SerenityError as error:
                self.faults[flags] = error.message
            self._compiles[flags] = flags not in self.faults
        return self._compiles[flags]

    def _try(self, flags: tuple[str, ...]) -> _Tried:
        stream = replace(self.options.stream, compare_stock=self.options.stream.compare_stock and not flags)
        options = replace(self.options, emit="mlir", phase="stream", stream=stream)
        try:
            report = self._compile(flags, options).report
        except SerenityError as error:
            if not flags:
                raise
            self.faults[flags] = error.message
            return _Tried(flags, None)
        if report is None:
            raise RuntimeError("phase stream makes a report")
        return _Tried(flags, report.memory.final.arena, report.memory.stock)

    def _compile(self, flags: tuple[str, ...], options: CompileOptions) -> Compiled:
        compiled = compile_model(self.path, replace(options, iree_flags=[*flags, *self._flags]))
        self._flags = self._later
        return compiled


def _arena(item: _Tried) -> float:
    return float("inf") if item.arena is None else item.arena
