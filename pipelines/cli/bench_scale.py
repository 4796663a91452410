"""`serenity bench scale`: the scheduler on generated graphs."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from serenity_mlir import console
from serenity_mlir.pipelines.cli.seconds import Seconds
from serenity_mlir.schedulers import DEFAULT_METHOD, METHODS


@click.command()
@click.argument("graphs", nargs=-1, required=True)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
    help="Graphs of each name, seeds 0 and up.",
)  # fmt: skip
@click.option(
    "--limit", type=Seconds(), default=10.0, show_default=True, metavar="SECONDS",
    help="For each graph.",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(list(METHODS)), default=DEFAULT_METHOD, show_default=True,
    help="How orders are looked for: ours, or as the SERENITY paper does.",
)  # fmt: skip
@click.option(
    "--cp-sat", type=Seconds(), metavar="SECONDS",
    help="Also ask OR-tools' CP-SAT for each graph, and fail if what it proves is another optimum.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, allow_dash=True), help="Also write markdown.")
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def scale(  # noqa: PLR0913  (one parameter an option of the command)
    *,
    graphs: tuple[str, ...],
    seeds: int,
    limit: float,
    method: str,
    cp_sat: float | None,
    output: Path | None,
    debug: bool,
) -> None:
    """Time the scheduler on generated GRAPHS.

    \b
    wsN        Watts-Strogatz (N, 4, 0.75), N at least 4, buffers of 1-100 bytes
    ws-unitN   the same with buffers of 1 byte
    randwireN  N of WS(32, 4, 0.75) one behind the other
    nasnetN    N normal cells of NASNet-A
    localN     N ops that each use two of the last 20 results
    """
    from serenity_mlir.pipelines.bench import scale as work  # noqa: PLC0415  (as in the other commands)
    from serenity_mlir.pipelines.bench.result_file import result_file, table  # noqa: PLC0415
    from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs  # noqa: PLC0415

    del debug  # `main` looks for it
    check_outputs([output] if output else [])
    measured = []
    with console.progress() as progress:
        for name in graphs:
            for seed in range(seeds):
                progress(f"{name}, seed {seed}")
                measured.append(work.measure(name, seed, method=method, limit=limit, cp_sat=cp_sat))
    headings, rows = work.rows(measured, cp_sat=cp_sat is not None)
    console.print_table(f"Schedules by {method}", headings, rows)
    sums = work.summary(measured, cp_sat=cp_sat is not None)
    console.print_table("By graph", *sums)
    if output is not None:
        asked = [] if cp_sat is None else ["--cp-sat", f"{cp_sat:g}"]
        options = ["--seeds", str(seeds), "--limit", f"{limit:g}", "--method", method, *asked]
        command = shlex.join(["serenity", "bench", "scale", *graphs, *options])
        text = f"{table(*sums)}\n\n{table(headings, rows)}"
        packages = ["networkx", *(["ortools"] if asked else [])]
        write_outputs(
            {output: result_file("Schedules of generated graphs", text, command, packages=packages).encode()}
        )
