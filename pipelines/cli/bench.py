"""`serenity bench`: the measurements that documents quote, one command each."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from serenity_mlir import console
from serenity_mlir.pipelines.cli.bench_paper import paper
from serenity_mlir.pipelines.cli.bench_reform import reform
from serenity_mlir.pipelines.cli.bench_scale import scale
from serenity_mlir.pipelines.cli.seconds import Seconds


@click.group(short_help="Measure parts of this project beside published figures.")
def bench() -> None:
    """Measure the scheduler, the packer and whole networks beside published figures."""


@bench.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER|FILES]")
@click.option(
    "--limit", type=Seconds(), default=10.0, show_default=True, metavar="SECONDS",
    help="For each plan.",
)  # fmt: skip
@click.option(
    "--capacity", type=click.IntRange(min=0), metavar="BYTES",
    help="What each instance is to fit.  [default: the number its file's name ends in]",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
    help="Take the median of N times to fit.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, allow_dash=True), help="Also write markdown.")
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def packing(  # noqa: PLR0913  (one parameter an option of the command)
    *,
    paths: tuple[Path, ...],
    limit: float,
    capacity: int | None,
    repeats: int,
    output: Path | None,
    debug: bool,
) -> None:
    """Time the arena planner on minimalloc's challenging instances.

    Each is planned until it fits its capacity, and then once as small as it gets. Without
    FOLDER or FILES they are looked for beside the checkout.
    """
    from serenity_mlir.pipelines.bench import packing as work  # noqa: PLC0415  (as in the other commands)
    from serenity_mlir.pipelines.bench.result_file import result_file, table  # noqa: PLC0415
    from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs  # noqa: PLC0415

    del debug  # `main` looks for it
    check_outputs([output] if output else [])
    rows = []
    with console.progress() as progress:
        for path in work.instances(paths):
            progress(path.name)
            rows.append(work.row(work.measure(path, limit=limit, repeats=repeats, capacity=capacity)))
    console.print_table("Seconds to fit the capacity, and the smallest arena", work.HEADINGS, rows)
    if output is not None:
        text = f"{table(work.HEADINGS, rows)}\n\n{work.explanation(limit, repeats)}"
        goal = [] if capacity is None else ["--capacity", str(capacity)]
        options = ["--limit", f"{limit:g}", "--repeats", str(repeats), *goal]
        command = shlex.join(["serenity", "bench", "packing", *map(str, paths), *options])
        write_outputs({output: result_file("Arena planning", text, command, packages=()).encode()})


bench.add_command(paper)
bench.add_command(reform)
bench.add_command(scale)
