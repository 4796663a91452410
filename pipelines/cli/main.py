"""`serenity`: the commands of DESIGN, one function each."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from serenity_mlir import __version__, console
from serenity_mlir.errors import EXIT_ERROR, EXIT_INTERRUPTED, SerenityError, UsageError
from serenity_mlir.pipelines.cli.bench import bench
from serenity_mlir.pipelines.cli.diff import diff
from serenity_mlir.pipelines.cli.pack import pack
from serenity_mlir.pipelines.cli.prune import prune
from serenity_mlir.pipelines.cli.seconds import DEFAULT_REWRITE_LIMIT, Seconds
from serenity_mlir.pipelines.cli.size_option import Size
from serenity_mlir.pipelines.cli.target_option import TargetOption
from serenity_mlir.pipelines.cli.views import view_options
from serenity_mlir.pipelines.phases import PHASES
from serenity_mlir.pipelines.targets import DEFAULT_TARGET
from serenity_mlir.schedulers import DEFAULT_METHOD, METHODS

DEFAULT_TIME_LIMIT = 2.0
DEFAULT_OUTPUT = "serenity-reports"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="serenity")
def serenity() -> None:
    """Make neural networks fit: memory-optimal order and arena, compiled by IREE.

    \b
      serenity analyze model.onnx                 what it needs, before and after
      serenity compile model.onnx -o model.vmfb   a module for IREE's runtime
      serenity COMMAND --help                     what else a command does

    Exit status: 0 done, 1 error, 2 usage, 3 over budget, 130 interrupted.
    """


_COMMON = (
    click.option(
        "--io",
        type=click.Choice(["external", "arena"]),
        help="Callers own inputs and outputs, or the one arena holds them while they are needed.  "
        "[default: arena for firmware, else external]",
    ),
    click.option(
        "--objective",
        type=click.Choice(["balanced", "memory"]),
        default="balanced",
        show_default=True,
        help="Rewrites may slow an inference by a tenth at most, as modelled on a host CPU (a "
        "microcontroller may lose more); or the least memory at any price.",
    ),
    click.option("--exact", is_flag=True, help="Only rewrites that leave results bit-identical."),
    click.option(
        "--no-rewrite",
        is_flag=True,
        help="Leave the model's ops as they are: split no convolutions of concatenations and the like.",
    ),
    click.option("--no-regions", is_flag=True, help="Leave it to IREE what runs in one dispatch."),
    click.option("--no-schedule", is_flag=True, help="Keep the order of the file."),
    click.option("--no-arena", is_flag=True, help="Leave the packing to IREE."),
    click.option(
        "--search",
        type=click.Choice(["fusion"]),
        help="Try several ways in which IREE may form dispatches, and take the smallest arena.",
    ),
    click.option(
        "--rewrite-limit",
        type=Seconds(),
        default=DEFAULT_REWRITE_LIMIT,
        show_default=True,
        metavar="SECONDS",
        help="Of processor time, for the choice of rewrites; past it the best set found is used.",
    ),
    click.option(
        "--time-limit",
        type=Seconds(),
        default=DEFAULT_TIME_LIMIT,
        show_default=True,
        metavar="SECONDS",
        help="For an order and its arena; past it the best found is used and its gap reported.",
    ),
    click.option(
        "--method",
        type=click.Choice(list(METHODS)),
        default=DEFAULT_METHOD,
        show_default=True,
        help="How orders are looked for: ours, or as the SERENITY paper does.",
    ),
    click.option("--compare-stock", is_flag=True, help="Also measure what stock IREE allocates."),
    click.option("--timeline", is_flag=True, help="Put live bytes and buffers of each step into the report."),
    click.option("--debug", is_flag=True, help="Show a traceback with an error."),
)
"""Options that `compile` and `analyze` share, in the order in which help shows them."""


def _common(command: Any) -> Any:
    """Give a command its model, the options of `_COMMON`, and IREE's flags."""
    flags = click.argument("iree_flags", nargs=-1, type=click.UNPROCESSED, metavar="[-- IREE_FLAG...]")
    for part in (flags, *reversed(_COMMON)):
        command = part(command)
    return click.argument("model", type=click.Path(path_type=Path))(command)


@serenity.command(name="compile", short_help="Compile a model in the order and arena of least memory.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, allow_dash=True), required=True,
    help="The file to write, a folder with --emit firmware; - is stdout.",
)  # fmt: skip
@click.option(
    "--emit", type=click.Choice(["vmfb", "mlir", "firmware"]), default="vmfb", show_default=True,
    help="A module for IREE's runtime, IR (bytecode in .mlirbc), or a C library.",
)  # fmt: skip
@click.option(
    "--target", cls=TargetOption, firmware=True, default=DEFAULT_TARGET, show_default=True, metavar="NAME",
    help="Where to run",
)  # fmt: skip
@click.option(
    "--name",
    metavar="NAME",
    help="With --emit firmware: what C names begin with.  [default: the file's name]",
)
@click.option(
    "--phase", default="stream", show_default=True, metavar="PHASE",
    help=f"With --emit mlir: the IREE phase to stop after, one of {', '.join(PHASES)}.",
)  # fmt: skip
@click.option(
    "--verify",
    is_flag=True,
    help="Run the result on random inputs, beside onnxruntime or else onnx.reference; write nothing if "
    "they differ.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Write the figures, as `analyze --json` does.",
)
@click.option(
    "--budget-ram", type=Size(), metavar="BYTES",
    help="Exit 3, with no artefact written, if RAM is above this: 40000, or 40KiB.",
)  # fmt: skip
@click.option(
    "--budget-rom",
    type=Size(),
    metavar="BYTES",
    help="The same for weights stored as data; of firmware, for flash.",
)
@click.option(
    "--sarif", "sarif_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Write budgets that are exceeded as SARIF 2.1.0.",
)  # fmt: skip
@_common
def compile_command(**options: Any) -> None:
    """Compile MODEL (.onnx, .mlir, .mlirbc) in the order, and the arena, of least memory.

    Tables go to stderr. IREE's own flags go after `--`.
    """
    from serenity_mlir.pipelines.cli.commands import run_compile  # noqa: PLC0415  (heavy)

    run_compile(**options)


@serenity.command(short_help="Predict what a model needs, without code generation.")
@click.option(
    "--target",
    "targets",
    cls=TargetOption,
    multiple=True,
    default=(DEFAULT_TARGET,),
    show_default=True,
    metavar="NAME",
    help="Where to run, may be given several times",
)
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the figures; `serenity diff` compares them.",
)  # fmt: skip
@click.option(
    "--csv", "csv_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the arena in minimalloc's format.",
)  # fmt: skip
@view_options
@click.option("--traffic", is_flag=True, help="Also show off-chip traffic at 32 to 256 KiB on chip.")
@click.option("--dispatches", is_flag=True, help="Also show each dispatch, and what crosses its boundary.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="With many models: how many at once.  [default: 1]",
)
@click.option("--scheduler", metavar="ADDRESS", help="With many models: run them on this Dask cluster.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help=f"With many models: where results go; those there are not made again.  [default: {DEFAULT_OUTPUT}]",
)
@_common
@click.pass_context
def analyze(  # noqa: PLR0913  (one parameter an option of the command)
    context: click.Context,
    /,
    *,
    model: Path,
    targets: Sequence[str],
    jobs: int | None,
    scheduler: str | None,
    output: Path | None,
    **options: Any,
) -> None:
    """Predict what MODEL needs, without code generation.

    MODEL may be a folder of models, or a manifest: a .json file with a list of
    {"model": PATH, "target": NAME, "options": [OPTION, ...]}, the last two optional.
    """
    from serenity_mlir.pipelines.cli.batch import analyze_many, is_batch  # noqa: PLC0415  (heavy)

    if is_batch(model, targets):
        analyze_many(
            context,
            model=model,
            targets=targets,
            jobs=jobs,
            scheduler=scheduler,
            output=output or Path(DEFAULT_OUTPUT),
        )
        return
    for name, value in (("--jobs", jobs), ("--scheduler", scheduler), ("--output", output)):
        if value is not None:
            raise UsageError(f"{name} is for many models", hint="name a folder or a manifest")
    from serenity_mlir.pipelines.cli.commands import run_analyze  # noqa: PLC0415  (heavy)

    run_analyze(model=model, target=targets[0], **options)


serenity.add_command(bench)
serenity.add_command(diff)
serenity.add_command(pack)
serenity.add_command(prune)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    debug = "--debug" in (sys.argv[1:] if arguments is None else arguments)
    try:
        serenity.main(args=arguments, prog_name="serenity", standalone_mode=False)
    except SerenityError as error:
        if debug:
            traceback.print_exc()
        console.print_error(error)
        return error.exit_status
    except click.Abort:
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return UsageError.exit_status if isinstance(error, click.UsageError) else EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
