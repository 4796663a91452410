"""Whether an object fits its target: machine, float ABI, and what it needs from others."""

from __future__ import annotations

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.firmware.helpers import HELPERS
from serenity_mlir.pipelines.firmware.object_file import ObjectFile
from serenity_mlir.pipelines.firmware.targets import FirmwareTarget


def check_object(found: ObjectFile, target: FirmwareTarget, *, file: str) -> None:
    """Check an object against what its target says.

    Symbols that only unreachable functions need are no fault: linkers drop them with `--gc-sections`.

    Raises:
        SerenityError: It is for another machine, passes floats otherwise, or needs functions that
            the target's libraries do not define with its calling convention.
    """
    expected = target.linkage
    is_, wanted = (
        (found.machine, found.bits, found.float_abi),
        (
            expected.machine,
            expected.bits,
            expected.float_abi,
        ),
    )
    if is_ != wanted:
        raise SerenityError(
            f"the object is for {_listed(is_)}, but the target '{target.name}' is {_listed(wanted)}",
            file=file,
            hint="flags after -- may contradict the target's; a .toml file describes another target",
        )
    missing = [name for name in found.needed if name not in expected.allowed and name not in HELPERS]
    if missing:
        raise SerenityError(
            f"the object needs {', '.join(missing)}, which the target '{target.name}' does not list",
            file=file,
            hint="if your libraries define them with its calling convention, list them under linkage.allowed "
            "in a .toml file of the target",
        )


def _listed(parts: tuple[str, int, str]) -> str:
    machine, bits, float_abi = parts
    return f"{machine.removeprefix('EM_')}, {bits} bits, {float_abi} float ABI"
