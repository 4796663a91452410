"""`serenity diff`: two reports side by side, for build servers and pull requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from serenity_mlir import console
from serenity_mlir.errors import BudgetExceeded, SerenityError

if TYPE_CHECKING:
    from serenity_mlir.diff import Tolerance
    from serenity_mlir.report import Report


def _tolerance(_context: click.Context, _option: click.Parameter, text: str) -> Tolerance:
    """What `text` says; a usage error if it is neither a share nor a size."""
    from serenity_mlir.diff import Tolerance  # noqa: PLC0415  (as late as in the other commands)

    try:
        return Tolerance.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(short_help="Compare two reports; exit 3 if figures grew.")
@click.argument("old", type=click.Path(path_type=Path), metavar="OLD.json")
@click.argument("new", type=click.Path(path_type=Path), metavar="NEW.json")
@click.option(
    "--tolerance", callback=_tolerance, default="0%", show_default=True, metavar="PCT|BYTES",
    help="How far figures may grow: 2%, 512 or 4KiB.",
)  # fmt: skip
@click.option(
    "--markdown", "markdown_path", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE",
    help="Write the tables as GitHub-flavoured Markdown; - is stdout.",
)  # fmt: skip
@click.option(
    "--sarif", "sarif_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Write regressions as SARIF 2.1.0.",
)  # fmt: skip
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def diff(  # noqa: PLR0913  (one parameter an option of the command)
    *,
    old: Path,
    new: Path,
    tolerance: Tolerance,
    markdown_path: Path | None,
    sarif_path: Path | None,
    debug: bool,
) -> None:
    """What changed from the report OLD.json to NEW.json; exit 3 if figures grew by more than --tolerance.

    `serenity compile --report` and `serenity analyze --json` write reports.
    """
    from serenity_mlir.diff import difference  # noqa: PLC0415  (as late as in the other commands)
    from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs  # noqa: PLC0415
    from serenity_mlir.views.diff_rows import diff_tables, regression_text  # noqa: PLC0415
    from serenity_mlir.views.markdown import markdown  # noqa: PLC0415
    from serenity_mlir.views.sarif import regressions, sarif  # noqa: PLC0415

    del debug  # `main` looks for it
    check_outputs([path for path in (markdown_path, sarif_path) if path], [old, new])
    before, after = _read(old), _read(new)
    found = difference(before, after, tolerance)
    shown = diff_tables(found)
    outputs = {} if markdown_path is None else {markdown_path: markdown(shown, found.notes).encode()}
    if sarif_path is not None:
        outputs[sarif_path] = sarif(regressions(found, after))
    write_outputs(outputs)
    console.print_tables(shown)
    for note in found.notes:
        console.print_note(note)
    if found.regressions:
        raise BudgetExceeded(
            regression_text(found, str(tolerance)),
            file=str(new),
            hint="raise --tolerance if this is wanted, or see what is live by `serenity analyze`",
        )


def _read(path: Path) -> Report:
    """A report from a file.

    Raises:
        SerenityError: There is none, or it is of another version.
    """
    import msgspec  # noqa: PLC0415  (as late as in the other commands)

    from serenity_mlir.report import SCHEMA_VERSION, read_report  # noqa: PLC0415

    hint = "`serenity compile --report` and `serenity analyze --json` write reports"
    try:
        report = read_report(path)
    except OSError as error:
        raise SerenityError(error.strerror or str(error), file=str(path), hint=hint) from error
    except msgspec.DecodeError as error:
        raise SerenityError(f"it is no report: {error}", file=str(path), hint=hint) from error
    if report.schema_version != SCHEMA_VERSION:
        raise SerenityError(
            f"it is a report of version {report.schema_version}, not {SCHEMA_VERSION}",
            file=str(path),
            hint=hint,
        )
    return report
