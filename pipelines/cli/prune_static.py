"""`serenity prune --static`: the options of the training, and what they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from serenity_mlir import console
from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.reform.train.extra import require_torch

if TYPE_CHECKING:
    from serenity_mlir.pipelines.compile import CompileOptions
    from serenity_mlir.pipelines.reform.prune import Pruned
    from serenity_mlir.reform.budgets import Amount, Kind

_POSITIVE = click.FloatRange(min=0, min_open=True)
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "test": {
        "type": click.Path(path_type=Path),
        "metavar": "TEST.npz",
        "help": "Measure accuracy on these.  [default: on the samples trained on]",
    },
    "z_step": {
        "type": click.Choice(["projection", "penalty"]),
        "help": "Onto all budgets at once, or the published penalty.  [default: projection]",
    },
    "lambda1": {
        "type": click.FloatRange(min=0),
        "metavar": "X",
        "help": "Weight of ‖F‖_1.  [default: 0.0001]",
    },
    "lambda2": {"type": _POSITIVE, "metavar": "X", "help": "Weight of the penalty.  [default: 1]"},
    "rounds": {"type": click.IntRange(min=1), "metavar": "N", "help": "Of ADMM at most.  [default: 20]"},
    "epochs": {
        "type": click.IntRange(min=0),
        "metavar": "N",
        "help": "Of training what is left.  [default: 1]",
    },
    "checkpoint": {
        "type": click.Path(path_type=Path),
        "metavar": "FILE",
        "help": "Save each round here, and go on from it if it is there.",
    },
}


def static_options(command: Any) -> Any:
    """`--static`, and what goes with it."""
    for name, given in reversed(list(_OPTIONS.items())):
        text = f"With --static: {given['help']}"
        command = click.option(f"--{name.replace('_', '-')}", **{**given, "help": text})(command)
    text = "Train weights and gates by ADMM (needs the extra `train`, and labels)."
    return click.option("--static", is_flag=True, help=text)(command)


def split_static(options: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Takes the options of the training out of a command's.

    Returns:
        Whether to train, and the options that were given.

    Raises:
        UsageError: Some were given without `--static`.
    """
    static = bool(options.pop("static"))
    found = {name: value for name in _OPTIONS if (value := options.pop(name)) is not None}
    if found and not static:
        name = next(iter(found)).replace("_", "-")
        raise UsageError(f"--{name} is of the training with --static", hint="add --static, or leave it out")
    return static, found


def run_static(  # noqa: PLR0913  (model, samples, budgets, how)
    model: Path,
    samples: Path,
    budgets: Mapping[Kind, Amount],
    given: Mapping[str, Any],
    *,
    seed: int,
    profile: str,
    compiling: CompileOptions | None,
) -> Pruned:
    """The static scheme, with a bar of how far it is."""
    require_torch("--static")
    from serenity_mlir.pipelines.reform.static import StaticFiles, prune_statically  # noqa: PLC0415  (heavy)
    from serenity_mlir.pipelines.reform.train.admm import AdmmOptions  # noqa: PLC0415  (an extra)
    from serenity_mlir.pipelines.reform.train.static import StaticOptions  # noqa: PLC0415  (an extra)
    from serenity_mlir.pipelines.reform.train.training import Training  # noqa: PLC0415  (an extra)

    named = {name: given[name] for name in ("z_step", "lambda1", "lambda2", "rounds") if name in given}
    options = StaticOptions(
        admm=AdmmOptions(seed=seed, **named),
        tuning=Training(rate=2e-4, epochs=given.get("epochs", 1), seed=seed),
        checkpoint=given.get("checkpoint"),
    )
    files = StaticFiles(model, samples, given.get("test"))
    with console.progress_bar() as progress:
        return prune_statically(
            files, budgets, options, device=profile, compiling=compiling, progress=progress
        )
