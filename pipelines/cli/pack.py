"""`serenity pack`: the arena planner by itself, for buffers that a CSV file lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from serenity_mlir import console
from serenity_mlir.errors import BudgetExceeded
from serenity_mlir.pipelines.cli.seconds import Seconds
from serenity_mlir.pipelines.cli.size_option import Size
from serenity_mlir.sizes import counted, size_text

if TYPE_CHECKING:
    from serenity_mlir.arena.extent import Placed


@click.command(short_help="Plan the smallest arena for the buffers of a CSV file.")
@click.argument("buffers", type=click.Path(path_type=Path), metavar="INPUT.csv")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, allow_dash=True), required=True,
    help="The same buffers with their offsets; - is stdout.",
)  # fmt: skip
@click.option(
    "--capacity",
    type=Size(),
    metavar="BYTES",
    help="Take the first plan that fits; exit 3, with nothing written, if none is found.",
)
@click.option(
    "--alignment", type=click.IntRange(min=1), default=1, show_default=True, metavar="BYTES",
    help="What every offset is a multiple of; sizes are taken as they are.",
)  # fmt: skip
@click.option(
    "--time-limit", type=Seconds(), default=10.0, show_default=True, metavar="SECONDS",
    help="Past it the best plan found is used.",
)  # fmt: skip
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def pack(  # noqa: PLR0913  (one parameter an option of the command)
    *, buffers: Path, output: Path, capacity: int | None, alignment: int, time_limit: float, debug: bool
) -> None:
    """Find offsets for the buffers of INPUT.csv in the smallest arena.

    Both files are minimalloc's: columns id,lower,upper,size, and offset in the output; offsets
    that the input has are left out of account. The arena ends with its last buffer: that the next
    multiple of the alignment lies beyond the capacity is no matter.
    """
    from serenity_mlir.arena import check_plan  # noqa: PLC0415  (as late as in the other commands)
    from serenity_mlir.arena.extent import plan_extent  # noqa: PLC0415
    from serenity_mlir.arena.minimalloc_csv import read_csv, to_csv  # noqa: PLC0415
    from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs  # noqa: PLC0415

    del debug  # `main` looks for it
    records = read_csv(buffers)
    check_outputs([output], [buffers])
    slices = [record.slice for record in records]
    arena = plan_extent(slices, alignment=alignment, time_limit=time_limit, capacity=capacity or 0)
    check_plan(slices, arena.offsets, arena.extent, alignment=alignment)
    if capacity is not None and arena.extent > capacity:
        raise _over_capacity(str(buffers), arena, capacity, ended=arena.seconds < time_limit)
    placed = [replace(record, offset=offset) for record, offset in zip(records, arena.offsets, strict=True)]
    write_outputs({output: to_csv(placed).encode()})
    proof = "proven minimal" if arena.optimal else f"no plan needs less than {size_text(arena.lower_bound)}"
    console.print_line(
        f"{counted(len(records), 'buffer')} in {size_text(arena.extent)}, {proof}; {arena.seconds:.2f} s"
    )


def _over_capacity(file: str, arena: Placed, capacity: int, *, ended: bool) -> BudgetExceeded:
    least, found = size_text(arena.lower_bound), size_text(arena.extent)
    if arena.lower_bound > capacity:
        return BudgetExceeded(
            f"no plan fits {size_text(capacity)}: at least {least} are needed, which is proven",
            file=file,
            hint=f"the smallest arena found has {found}",
        )
    return BudgetExceeded(
        f"no plan was found that fits {size_text(capacity)}; the smallest arena found has {found}",
        file=file,
        hint="it is not proven that none fits, but more time finds none: take a smaller --alignment"
        if ended
        else "raise --time-limit: it is not proven that none fits",
    )
