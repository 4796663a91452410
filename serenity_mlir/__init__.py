"""Make neural networks fit: memory-optimal order and arena, proven in what IREE compiles.

The whole interface that programs need to remember: `analyze`, `compile` and `prune` take models, `schedule`
a `MemoryGraph`, `plan` a list of `Slice`. Each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serenity_mlir.arena import ArenaPlan, plan
    from serenity_mlir.errors import BudgetExceeded, SerenityError, UsageError
    from serenity_mlir.graph import Buffer, MemoryGraph, Op
    from serenity_mlir.liveness import Slice, live_ranges
    from serenity_mlir.pipelines.api import (
        CompiledModel,
        PrunedModel,
        analyze,
        compile,  # noqa: A004  (serenity_mlir.compile)
        prune,
    )
    from serenity_mlir.reform.report import PruneReport
    from serenity_mlir.report import Report, read_report
    from serenity_mlir.schedulers import Schedule, schedule

__version__ = "0.1.0.dev0"

__all__ = [
    "ArenaPlan",
    "BudgetExceeded",
    "Buffer",
    "CompiledModel",
    "MemoryGraph",
    "Op",
    "PruneReport",
    "PrunedModel",
    "Report",
    "Schedule",
    "SerenityError",
    "Slice",
    "UsageError",
    "analyze",
    "compile",
    "live_ranges",
    "plan",
    "prune",
    "read_report",
    "schedule",
]

_HOMES = {
    "serenity_mlir.arena": ("ArenaPlan", "plan"),
    "serenity_mlir.errors": ("BudgetExceeded", "SerenityError", "UsageError"),
    "serenity_mlir.graph": ("Buffer", "MemoryGraph", "Op"),
    "serenity_mlir.liveness": ("Slice", "live_ranges"),
    "serenity_mlir.pipelines.api": ("CompiledModel", "PrunedModel", "analyze", "compile", "prune"),
    "serenity_mlir.reform.report": ("PruneReport",),
    "serenity_mlir.report": ("Report", "read_report"),
    "serenity_mlir.schedulers": ("Schedule", "schedule"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])
