"""Ways below a budget that was exceeded, each measured: what a compilation with it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from serenity_mlir.dialect_passes.stream.schedule_execution import ARENA
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.report import Report
from serenity_mlir.sizes import size_text


@dataclass(frozen=True, slots=True)
class Way:
    """One way, on top of those before it.

    Attributes:
        words: What to do, in the words of the command line.
        ram: Bytes that are needed then; None where it is not known.
        saved: Bytes less than before this way; negative where it needs more.
        fault: Why it cannot be had.
    """

    words: str
    ram: int | None
    saved: int
    fault: str = ""

    def text(self, budget: int) -> str:
        """What comes of it, against a budget in bytes."""
        if self.fault:
            return f"{self.words}: not possible, {self.fault}"
        if self.ram is None:
            return f"{self.words}: RAM has no constant size"
        saves = f"saves {size_text(self.saved)}" if self.saved > 0 else "saves nothing"
        fits = "which fits" if self.ram <= budget else f"{size_text(self.ram - budget)} too many"
        return f"{self.words}: {saves}, leaves {size_text(self.ram)}, {fits}"


def left_out(options: CompileOptions) -> list[str]:
    """The flags that forbid something that saves memory."""
    rewrite, stream = options.rewrite, options.stream
    kept = {
        "--no-schedule": not stream.schedule,
        "--no-arena": not stream.arena,
        "--no-rewrite": not rewrite.ops,
        "--no-regions": not rewrite.regions,
        "--exact": rewrite.exact,
    }
    return [flag for flag, used in kept.items() if used]


def measured_ways(
    options: CompileOptions, needed: int, budget: int, measure: Callable[[CompileOptions], Report]
) -> list[Way]:
    """What was not used, from what costs nothing to what costs latency, up to the first that fits.

    Args:
        options: What was compiled with.
        needed: Bytes of RAM that it needs.
        budget: Bytes that there are.
        measure: Analyzes the model with other options.
    """
    ways: list[Way] = []
    for words, changed in _steps(options):
        try:
            ram = measure(changed).memory.ram
        except SerenityError as error:
            ways.append(Way(words, None, 0, error.message))
            continue
        ways.append(Way(words, ram, 0 if ram is None else needed - ram))
        if ram is not None:
            if ram <= budget:
                break
            needed = ram
    return ways


def _steps(options: CompileOptions) -> Iterator[tuple[str, CompileOptions]]:
    flags = left_out(options)
    if flags:
        options = replace(
            options,
            stream=replace(options.stream, schedule=True, arena=True),
            rewrite=replace(options.rewrite, ops=True, regions=True, exact=False),
        )
        yield f"leave out {', '.join(flags)}", options
    if options.stream.io != ARENA:
        options = replace(options, stream=replace(options.stream, io=ARENA))
        yield "--io arena (inputs and outputs share the arena)", options
    if options.rewrite.balanced:
        options = replace(options, rewrite=replace(options.rewrite, balanced=False))
        yield "--objective memory (at the price of latency)", options
