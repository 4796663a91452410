"""Firmware targets: TOML files, those that come with the package and those of the user."""

from __future__ import annotations

import msgspec

from serenity_mlir.errors import UsageError
from serenity_mlir.named_files import NamedFiles
from serenity_mlir.pipelines.targets import TARGETS


class Linkage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the object must be, and what it may leave to others.

    Attributes:
        machine: ELF's name of the machine, `EM_ARM`.
        bits: 32 or 64.
        float_abi: "hard" or "soft" on Arm; "soft", "single" or "double" on RISC-V.
        allowed: Symbols that the toolchain's libraries define with this calling convention.
        libraries: Those libraries, for a linker: `-lm`.
    """

    machine: str
    bits: int
    float_abi: str
    allowed: list[str] = []
    libraries: list[str] = []


class Toolchain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A C compiler for the target, and the Debian packages that have it."""

    compiler: str
    flags: list[str] = []
    packages: list[str] = []


class Board(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A board to try it on.

    Attributes:
        name: As QEMU calls it.
        ram: Bytes that a program may use.
        flash: Bytes that code and constants may use.
        clock_hz: Of the timer that programs count time by; 0 where they count instructions.
        emulate: The command that runs an ELF file, which is its last argument.
    """

    name: str
    ram: int
    flash: int
    clock_hz: int = 0
    emulate: list[str] = []


class FirmwareTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where firmware runs.

    Attributes:
        name: As `--target` takes it.
        summary: What it is.
        flags: Of iree-compile: triple, CPU, features, ABI.
        linkage: What the object must be.
        toolchain: A compiler for it.
        board: A board; None for the machine that compiles.
        register_tiles: Whether dispatches are tiled for a core without vectors.
    """

    name: str
    summary: str
    flags: list[str]
    linkage: Linkage
    toolchain: Toolchain
    board: Board | None = None
    register_tiles: bool = False


_TARGETS = NamedFiles(
    FirmwareTarget, "firmware target", "--target", "serenity_mlir.pipelines.firmware", "boards"
)


def firmware_target_names() -> tuple[str, ...]:
    """Those that come with the package."""
    return tuple(_TARGETS.shipped)


def firmware_target(name: str) -> FirmwareTarget:
    """The target of that name, or of that file if it ends in `.toml`.

    Raises:
        UsageError: There is none, or the file does not describe one.
    """
    if name in TARGETS and name not in _TARGETS.shipped:
        raise UsageError(f"firmware needs a --target, and '{name}' is none", hint=_TARGETS.choice)
    return _TARGETS.find(name)
