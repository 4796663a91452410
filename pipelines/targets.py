"""Named targets: the IREE flags that stand for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from serenity_mlir.errors import UsageError
from serenity_mlir.suggest import hint_of

_LOCAL = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
# A user who gives one of these has chosen the device: the target's own flags stand back.
_DEVICE_FLAGS = (
    "iree-hal-target-device",
    "iree-hal-target-backends",
    "iree-hal-local-target-device-backends",
)


@dataclass(frozen=True, slots=True)
class Target:
    """A place to run, and what tells IREE so."""

    name: str
    flags: tuple[str, ...]
    summary: str


TARGETS = {
    target.name: target
    for target in (
        Target(
            "generic",
            (*_LOCAL, "--iree-llvmcpu-target-cpu=generic"),
            "any CPU of this machine's architecture; the same bytes everywhere",
        ),
        Target("host", (*_LOCAL, "--iree-llvmcpu-target-cpu=host"), "the CPU of this machine"),
        Target(
            "aarch64",
            (*_LOCAL, "--iree-llvmcpu-target-triple=aarch64-none-elf"),
            "64-bit Arm, embedded ELF",
        ),
        Target(
            "riscv64",
            (
                *_LOCAL,
                "--iree-llvmcpu-target-triple=riscv64-none-elf",
                "--iree-llvmcpu-target-abi=lp64d",
                "--iree-llvmcpu-target-cpu-features=+m,+a,+f,+d,+c",
            ),
            "64-bit RISC-V (RV64GC), embedded ELF",
        ),
    )
}
DEFAULT_TARGET = "generic"


def target(name: str) -> Target:
    """The target of that name.

    Raises:
        UsageError: There is none.
    """
    if name in TARGETS:
        return TARGETS[name]
    from serenity_mlir.pipelines.firmware.targets import firmware_target_names  # noqa: PLC0415  (reads files)

    if name in firmware_target_names() or name.endswith(".toml"):
        hint = f"`serenity compile --emit firmware` takes it; others are {', '.join(TARGETS)}"
        raise UsageError(f"target '{name}' is for firmware", hint=hint)
    raise UsageError(f"no target '{name}'", hint=hint_of(name, TARGETS, "targets are"))


def compiler_flags(name: str, given: Sequence[str]) -> list[str]:
    """The flags of target `name` with the user's own after them, which win."""
    names = {flag.split("=", 1)[0].lstrip("-") for flag in given}
    if names & set(_DEVICE_FLAGS):
        return list(given)
    own = [flag for flag in target(name).flags if flag.split("=", 1)[0].lstrip("-") not in names]
    return [*own, *given]
