"""`serenity compile --emit firmware`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def firmware_library(
    model: Path,
    output: Path,
    name: str | None,
    options: CompileOptions,
    *,
    compiler: Callable[[Path, CompileOptions], Compiled],
) -> tuple[Report, Callable[[Mapping[Path, bytes]], None]]:
    """The figures of a firmware library, and what writes it to the folder `output`, and other files beside.

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

    def write(beside: Mapping[Path, bytes]) -> None:
        write_folder(output, made.files)
        write_outputs(beside)

    return made.report, write
