"""`serenity bench paper`: the SERENITY paper's evaluation over again."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from serenity_mlir import console
from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.cli.seconds import Seconds

_SEED = 0


@click.command(short_help="The cells of the SERENITY paper, measured again.")
@click.option(
    "--swiftnet", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Holds SwiftNet's cells.  [default: looked for beside the checkout]",
)  # fmt: skip
@click.option(
    "--time-limit", type=Seconds(), default=10.0, show_default=True, metavar="SECONDS",
    help="For each scheduler on each cell, and for each arena.",
)  # fmt: skip
@click.option(
    "--orders", type=click.IntRange(min=1), default=10_000, show_default=True, metavar="N",
    help="Random orders of each cell.",
)  # fmt: skip
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path), metavar="FILE", help="Write the figures."
)
@click.option(
    "--plot", "plot_path", type=click.Path(path_type=Path), metavar="FILE.svg|.png",
    help="Draw how good random orders are.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, allow_dash=True), help="Also write markdown.")
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def paper(  # noqa: PLR0913  (one parameter an option of the command)
    *,
    swiftnet: Path | None,
    time_limit: float,
    orders: int,
    json_path: Path | None,
    plot_path: Path | None,
    output: Path | None,
    debug: bool,
) -> None:
    """Peaks, arenas, traffic and scheduling times of the SERENITY paper's cells."""
    from serenity_mlir.pipelines.bench import paper as work  # noqa: PLC0415  (as in the other commands)
    from serenity_mlir.pipelines.bench.paper_plot import plot  # noqa: PLC0415
    from serenity_mlir.pipelines.bench.paper_tables import markdown, settings, tables  # noqa: PLC0415
    from serenity_mlir.pipelines.bench.result_file import result_file  # noqa: PLC0415
    from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs  # noqa: PLC0415
    from serenity_mlir.views.figures import plot_format  # noqa: PLC0415

    del debug  # `main` looks for it
    paths = [path for path in (json_path, plot_path, output) if path is not None]
    check_outputs(paths)
    form = plot_format(plot_path) if plot_path is not None else None
    folder = work.SWIFTNET if swiftnet is None else swiftnet
    if not folder.is_dir():
        if swiftnet is not None:
            raise UsageError(f"there is no folder '{swiftnet}'", hint="leave --swiftnet out to go without")
        console.print_note(f"SwiftNet's cells are left out: there is no {folder}")
    with console.progress() as progress:
        cells = work.cells(folder)
        report = work.measure(cells, time_limit=time_limit, orders=orders, seed=_SEED, progress=progress)
    contents: dict[Path, bytes] = {}
    if json_path is not None:
        contents[json_path] = report.to_json()
    if plot_path is not None and form is not None:
        contents[plot_path] = plot(report, form)
    if output is not None:
        named = {"--swiftnet": swiftnet, "--plot": plot_path, "-o": output}
        options = ["--time-limit", f"{time_limit:g}", "--orders", str(orders)]
        options += [part for name, path in named.items() if path is not None for part in (name, str(path))]
        text = markdown(report)
        if plot_path is not None:
            text += f"\n\n![Random orders]({os.path.relpath(plot_path, output.parent)})"
        command = shlex.join(["serenity", "bench", "paper", *options])
        page = result_file("The SERENITY paper's cells", text, command, packages=("networkx",))
        contents[output] = page.encode()
    write_outputs(contents)
    for item in tables(report):
        console.print_table(item.title, item.headings, item.rows)
        console.print_line(f"{item.note}\n")
    for line in settings(report):
        console.print_line(line)
