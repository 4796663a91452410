"""What goes in and out of IREE's compiler, apart from modules: flags, settings, messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import SerenityError

_BYTECODE = b"ML\xefR"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of the compiler: `severity` is note, warning, error or remark."""

    severity: str
    message: str

    @property
    def summary(self) -> str:
        """The message without the op that MLIR prints after it."""
        return self.message.split("\n\n", 1)[0].split("see current operation", 1)[0].strip()


class CompilerError(SerenityError):
    """IREE refused the program. `diagnostics` holds all that it said, errors first."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic], *, file: str | None = None) -> None:
        super().__init__(message, file=file)
        self.diagnostics = tuple(diagnostics)


@dataclass(frozen=True, slots=True)
class Source:
    """MLIR text or bytecode, and the name of the file that messages give it."""

    name: str
    data: bytes

    @property
    def buffer(self) -> bytes:
        """The data as MLIR's parser wants it: text ends in a NUL, bytecode is as it is."""
        return self.data if self.data.startswith(_BYTECODE) else self.data + b"\0"


@dataclass(frozen=True, slots=True)
class Settings:
    """What iree-compile's driver sets on an invocation.

    Attributes:
        console: Diagnostics of a `Source` go to stderr as iree-compile prints them, with the
            line that they are about, and are not collected.
        verify: Verify the IR after every pass.
        dump_phases_to: A folder for the IR after each phase; empty for none.
        remarks_filter: Regular expression on the categories of optimisation remarks to write.
        remarks_file: The YAML file for them.
    """

    console: bool = False
    verify: bool = True
    dump_phases_to: str = ""
    remarks_filter: str = ""
    remarks_file: str = ""


def flag_name(flag: str) -> str:
    """The name in `--name=value`, without dashes."""
    return flag.split("=", 1)[0].lstrip("-")


def flag_value(flags: Sequence[str], name: str) -> str | None:
    """The last value that `flags` give the flag `name` (without dashes), as `--name=V` or `--name V`."""
    value = None
    for flag, following in zip_longest(flags, flags[1:]):
        if flag.startswith("-") and flag_name(flag) == name:
            _, equals, given = flag.partition("=")
            value = given if equals else following
    return value


def quoted(value: str) -> str:
    """`value` as the option of a textual pipeline."""
    return f'"{value}"' if re.search(r"[\s{},()]", value) else value


def dump_stem(module: ir.Operation) -> str:
    """What IREE calls the files that it dumps: the module's name, else its file's."""
    if "sym_name" in module.attributes:
        return str(ir.StringAttr(module.attributes["sym_name"]).value)
    location = re.fullmatch(r'loc\("(.*)":\d+:\d+\)', str(module.location))
    if location is None:
        return "module"
    stem = Path(location[1]).stem.encode()
    return "".join(chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else "_" for byte in stem)


@contextmanager
def single_threaded(context: ir.Context) -> Iterator[None]:
    """Printing with threads on aborts the process."""
    context.enable_multithreading(False)
    try:
        yield
    finally:
        context.enable_multithreading(True)
