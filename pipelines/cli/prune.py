"""`serenity prune`: a smaller model within any number of budgets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from serenity_mlir import console
from serenity_mlir.errors import BudgetExceeded, UsageError
from serenity_mlir.pipelines.cli import prune_family
from serenity_mlir.pipelines.cli.amount import AmountType
from serenity_mlir.pipelines.cli.prune_static import run_static, split_static, static_options
from serenity_mlir.pipelines.cli.seconds import DEFAULT_REWRITE_LIMIT, Seconds
from serenity_mlir.pipelines.cli.target_option import TargetOption
from serenity_mlir.pipelines.targets import DEFAULT_TARGET
from serenity_mlir.reform.budgets import COMPILED, KINDS, UNITS, Amount, Kind, shown
from serenity_mlir.reform.profile import DEFAULT_PROFILE

if TYPE_CHECKING:
    from serenity_mlir.pipelines.reform.contribution import Choice
    from serenity_mlir.pipelines.reform.prune import PrunedVariant
    from serenity_mlir.reform.masking import Method
    from serenity_mlir.reform.report import Missed, PruneReport

_FORMATS = (".onnx", ".mlir", ".mlirbc", ".vmfb")
_HELP: dict[Kind, str] = {
    "macs": "Multiply-accumulates of an inference (Eq. 1).",
    "memory": "Bytes of filters and of all output maps (Eq. 2).",
    "energy": "Millijoules of an inference, by the profile (Eq. 3).",
    "latency": "Milliseconds of an inference, at the profile's rate.",
    "ram": "Bytes of RAM of the compiled model: the arena, inputs and outputs.",
    "rom": "Bytes of weights stored as data in the compiled model.",
}


def _budgets(command: Any) -> Any:
    for kind in reversed(KINDS):
        metavar = f"{UNITS[kind].upper()}|PERCENT"
        command = click.option(f"--budget-{kind}", type=AmountType(kind), metavar=metavar, help=_HELP[kind])(
            command
        )
    return command


@click.command(short_help="Remove channels of an ONNX model until budgets hold.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DATA.npz",
    help="An array for each input, samples first; and `labels`, if there are any.",
)
@_budgets
@click.option(
    "--method",
    type=click.Choice(["pi", "magnitude", "random"]),
    default="pi",
    show_default=True,
    help="Which channels go: those of least priority indicator (PI), or a baseline.",
)
@click.option(
    "--contribution",
    type=click.Choice(["auto", "gradient", "ablation"]),
    help="CI by gradients (extra `train`) or by masking channels.  [default: auto, by masking where each "
    "channel can be tried by itself, else by gradients where there are any]",
)
@prune_family.family_options
@static_options
@click.option(
    "--profile",
    default=DEFAULT_PROFILE,
    show_default=True,
    metavar="NAME|FILE.toml",
    help="Energy of an operation, the processor's rate, bit widths.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Of --method random and --static.",
)
@click.option(
    "--target", cls=TargetOption, default=DEFAULT_TARGET, show_default=True, metavar="NAME",
    help="For RAM, ROM and .vmfb",
)  # fmt: skip
@click.option(
    "--io",
    type=click.Choice(["external", "arena"]),
    default="external",
    show_default=True,
    help="Whether the arena holds inputs and outputs.",
)
@click.option(
    "--rewrite-limit",
    type=Seconds(),
    default=DEFAULT_REWRITE_LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="Of processor time, for the choice of rewrites, each time a variant is compiled.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The pruned model: .onnx, .mlir, .mlirbc or .vmfb.",
)
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE.json", help="Write the figures.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.svg|.png",
    help="Draw score against each budget, priority and costs of layers, channels on the way.",
)
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def prune(**options: Any) -> None:
    """Remove channels of MODEL (.onnx) until all budgets hold.

    A budget is a number or a percentage of what the unpruned model takes; equations are those of the ReForm
    paper. The exit status is 3 where a budget cannot be met; then no model is written, and the report says
    how near it came.

    \b
    Only ONNX models can be pruned so. From torch-onnx MLIR a pass removes
    channels that are named:
      serenity-opt M.mlir --serenity-prune-channels=gates=GATES.json -o P.mlir
    """
    static, training = split_static(options)
    run_prune(**options, training=training if static else None)


def run_prune(  # noqa: PLR0913  (one parameter an option of the command)
    *,
    model: Path,
    calibration: Path,
    method: str,
    contribution: str | None,
    profile: str,
    seed: int,
    target: str,
    io: str,
    rewrite_limit: float,
    output: Path,
    report: Path | None,
    plot: Path | None,
    debug: bool,
    variants: int | None,
    budgets_file: Path | None,
    training: dict[str, Any] | None,
    **budgets: Amount | None,
) -> None:
    """`serenity prune`; with `training`, its static scheme."""
    from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs  # noqa: PLC0415
    from serenity_mlir.pipelines.compile import CompileOptions  # noqa: PLC0415  (heavy)
    from serenity_mlir.pipelines.lower_rewritten import RewriteOptions  # noqa: PLC0415  (heavy)
    from serenity_mlir.pipelines.lower_stream import StreamOptions  # noqa: PLC0415  (heavy)
    from serenity_mlir.pipelines.reform.prune import PruneOptions, prune  # noqa: PLC0415  (heavy)
    from serenity_mlir.reform.plot import plot_pruning  # noqa: PLC0415
    from serenity_mlir.views.figures import plot_format  # noqa: PLC0415

    given = {kind: amount for kind in KINDS if (amount := budgets[f"budget_{kind}"]) is not None}
    family = prune_family.wanted(given, variants, budgets_file)
    if not given and family is None:
        raise UsageError(
            "no budget is given", hint=f"give any of {', '.join(f'--budget-{k}' for k in KINDS)}"
        )
    formats = _FORMATS if family is None else prune_family.FORMATS
    if output.suffix not in formats:
        what = "no model is" if family is None else "variants are not"
        raise UsageError(f"{what} written as '{output.suffix}'", hint=f"name a file {', '.join(formats)}")
    if family is not None and training is not None:
        raise UsageError("--static trains one variant", hint="leave out --variants and --budgets")
    files = [path for path in (output, report, plot) if path is not None]
    form = None if plot is None else plot_format(plot)
    test = None if training is None else training.get("test")
    check_outputs(files, [model, calibration, budgets_file, Path(profile), test])
    if contribution is not None and (method != "pi" or training is not None):
        raise UsageError("--contribution is of --method pi without --static", hint="leave it out")
    vmfb = output.suffix == ".vmfb"
    compiling = CompileOptions(
        emit="vmfb" if vmfb else "mlir",
        target=target,
        rewrite=RewriteOptions(time_limit=rewrite_limit),
        stream=StreamOptions(io=io),
        debug_info=debug,
    )
    if training is not None:
        pruned = run_static(
            model,
            calibration,
            given,
            training,
            seed=seed,
            profile=profile,
            compiling=compiling if vmfb or any(kind in given for kind in COMPILED) else None,
        )
    else:
        with console.progress() as progress:
            pruned = prune(
                model,
                calibration,
                [given] if family is None else family.budgets,
                PruneOptions(
                    method=cast("Method", method),
                    contribution=cast("Choice", contribution or "auto"),
                    profile=profile,
                    seed=seed,
                    names=() if family is None else family.names,
                    compile=replace(compiling, progress=progress),
                    always_compile=vmfb,
                ),
            )
    figures, contents = pruned.report, {}
    if not any(variant.missed for variant in figures.variants):
        if family is None:
            contents[output] = _artefact(pruned.variants[0], output)
        else:
            contents[output], figures = prune_family.family_artefact(
                model, pruned, family.names, output, compiling
            )
    if report is not None:
        contents[report] = figures.to_json()
    if plot is not None and form is not None:
        contents[plot] = plot_pruning(figures, form)
    write_outputs(contents)
    console.print_pruning(figures)
    _hold(figures)


def _artefact(variant: PrunedVariant, output: Path) -> bytes:
    from serenity_mlir.pipelines.compile import CompileOptions  # noqa: PLC0415  (heavy)
    from serenity_mlir.pipelines.reform.compiled import compiled_model  # noqa: PLC0415  (heavy)

    if output.suffix == ".onnx":
        return bytes(variant.model.SerializeToString())
    if output.suffix == ".vmfb":
        if variant.compiled is None:
            raise ValueError("a .vmfb is compiled")
        return variant.compiled.compiled.program.vm_bytecode()
    program = compiled_model(variant.model, CompileOptions(emit="mlir", phase="start")).program
    if output.suffix == ".mlirbc":
        return program.bytecode()
    return (program.print_ir() + "\n").encode()


def _hold(report: PruneReport) -> None:
    """Say which budgets cannot be met, and how near it came.

    Raises:
        BudgetExceeded: Some cannot.
    """
    missed = [item for variant in report.variants for item in variant.missed]
    if not missed:
        return
    said = "".join(f"\n  {_missed(item)}" for item in missed)
    raise BudgetExceeded(
        f"not every budget can be met, and no model is written{said}",
        file=report.model.path,
        hint="raise these budgets, or start from another model; --report says what stays and why",
    )


def _missed(item: Missed) -> str:
    reached, limit = shown(item.kind, item.reached), shown(item.kind, item.limit)
    more = f", {item.reached / item.limit - 1:.1%} more than" if item.limit else "; more than"
    return f"{item.kind} comes down to {reached}{more} the budget of {limit}"
