"""What a library takes of its target, measured on a program that the target's toolchain links from it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from serenity_mlir.pipelines.firmware.emit_c import Library, prefix
from serenity_mlir.pipelines.firmware.link_map import flash_by_file
from serenity_mlir.pipelines.firmware.stack_use import UnknownStackUse, deepest
from serenity_mlir.pipelines.firmware.targets import FirmwareTarget

_FLAGS = ("-std=c99", "-Os", "-ffunction-sections", "-fdata-sections")
_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Linked:
    """Bytes of a linked program that holds nothing but the library.

    Attributes:
        compiler: The first line of its `--version`.
        flags: What the source was compiled with.
        object: Of the object in flash: functions, constants, tables.
        source: Of the generated source in flash, weights included.
        libraries: Of what both call of the toolchain's libraries, in flash.
    """

    compiler: str
    flags: tuple[str, ...]
    object: int
    source: int
    libraries: int

    @property
    def flash(self) -> int:
        """All that is in flash."""
        return self.object + self.source + self.libraries


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, and why the rest was not.

    Attributes:
        linked: None where the target's toolchain could not link the library.
        stack: Bytes that the deepest chain of calls takes; None where that cannot be read off the program.
        unknown: Why one of them is None.
    """

    linked: Linked | None = None
    stack: int | None = None
    unknown: str = ""


class _NotMeasured(Exception):
    """Says why."""


def measure(library: Library, header: str, source: str, data: bytes, target: FirmwareTarget) -> Measured:
    """Link a library by its target's toolchain, without what nothing calls, and measure the program.

    Args:
        library: What was emitted.
        header: C.
        source: C.
        data: The object.
        target: Whose toolchain.
    """
    try:
        linked, listing = _linked(library, header, source, data, target)
    except _NotMeasured as error:
        return Measured(unknown=str(error))
    try:
        return Measured(linked, deepest(listing, _interface(library), library.program.exports))
    except UnknownStackUse as error:
        return Measured(linked, unknown=str(error))


def _linked(
    library: Library, header: str, source: str, data: bytes, target: FirmwareTarget
) -> tuple[Linked, str]:
    """A program's sizes, and its disassembly."""
    if target.board is None:
        raise _NotMeasured(f"the target '{target.name}' is no board")
    compiler, name = target.toolchain.compiler, library.name
    if shutil.which(compiler) is None:
        packages = (
            f" (apt-get install {' '.join(target.toolchain.packages)})" if target.toolchain.packages else ""
        )
        raise _NotMeasured(f"{compiler} is not installed{packages}")
    with tempfile.TemporaryDirectory(prefix="serenity-") as made:
        folder = Path(made)
        (folder / f"{name}.h").write_text(header, "utf-8")
        (folder / f"{name}.c").write_text(source, "utf-8")
        (folder / "dispatches.o").write_bytes(data)
        (folder / "measure.ld").write_text(
            (files("serenity_mlir.pipelines.firmware") / "templates" / "measure.ld").read_text("utf-8"),
            "utf-8",
        )
        flags = [*target.toolchain.flags, *_FLAGS]
        _said([compiler, *flags, "-c", f"{name}.c", "-o", "source.o"], folder)
        kept = [f"-Wl,--undefined={symbol}" for symbol in _interface(library)]
        linking = ["-nostartfiles", "-Wl,--gc-sections", *kept, f"-Wl,--entry={name}_init", "-Wl,-Map=map"]
        parts = ["source.o", "dispatches.o", *target.linkage.libraries, "-T", "measure.ld", "-o", "program"]
        _said([compiler, *flags, *linking, *parts], folder)
        sizes = flash_by_file((folder / "map").read_text("utf-8"))
        objdump = _said([compiler, "-print-prog-name=objdump"], folder).strip()
        listing = _said([objdump, "-d", "--no-show-raw-insn", "program"], folder)
    version = _said([compiler, "--version"], None).splitlines()[0]
    own = sizes.pop("dispatches.o", 0), sizes.pop("source.o", 0)
    return Linked(version, tuple(flags), *own, sum(sizes.values())), listing


def _interface(library: Library) -> list[str]:
    """Functions that a program calls."""
    name = library.name
    entries = [prefix(library, entry) for entry in library.program.entries]
    external = [f"{name}_bind_input", f"{name}_bind_output"] if library.external else []
    each = [f"{entry}_{what}" for entry in entries for what in ("input", "output", "invoke")]
    return [f"{name}_init", f"{name}_status_string", *external, *each]


def _said(command: Sequence[str], folder: Path | None) -> str:
    try:
        done = subprocess.run(  # noqa: S603  (the target's own toolchain)
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _NotMeasured(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        words = (done.stderr.strip() or "no word of why").splitlines()
        raise _NotMeasured(f"{command[0]} does not link the library: {words[-1][:200]}")
    return done.stdout
