"""`serenity compile --emit firmware`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from serenity_mlir import console
from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.cli.outputs import write_outputs
from serenity_mlir.pipelines.compile import Compiled, CompileOptions
from serenity_mlir.pipelines.firmware.build import build_firmware, identifier
from serenity_mlir.pipelines.firmware.targets import firmware_target
from serenity_mlir.pipelines.firmware.write import check_folder, write_folder
from serenity_mlir.report import Report


def emit_firmware(  # noqa: PLR0913  (what the command line gives)
    model: Path,
    output: Path,
    name: str | None,
    options: CompileOptions,
    *,
    compiler: Callable[[Path, CompileOptions], Compiled],
    report: Path | None,
    timeline: bool,
) -> Report:
    """Write a firmware library to the folder `output`, and the figures to `report`; print them.

    Raises:
        UsageError: `output` is stdout, or there is no such target.
        SerenityError: The model cannot be firmware, or the folder cannot be written.
    """
    if str(output) == "-":
        raise UsageError("a firmware library is a folder", hint="name a new folder instead of stdout")
    firmware_target(options.target)
    check_folder(output)
    with console.progress() as progress:
        made = build_firmware(model, replace(options, progress=progress), identifier(name, model), compiler)
    write_folder(output, made.files)
    if report is not None:
        write_outputs({report: made.report.to_json(timeline=timeline)})
    console.print_report(made.report)
    return made.report
