"""The command line of iree-compile, as far as its driver reads it itself.

LLVM's parser reads the rest: what is not told apart here goes to it untouched. Where a command
line asks for nothing that we do, or is one that the driver refuses, `driver_options` says so
with None, and iree-compile gets it as it is: its behaviour and its messages are then its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.phases import PHASES

FORMATS: Final = ("vm-bytecode", "vm-c", "vm-asm")
# Flags with which iree-compile prints something and does nothing else.
_INFORMATION = frozenset(
    {
        "help",
        "help-hidden",
        "help-list",
        "help-list-hidden",
        "version",
        "iree-hal-list-target-backends",
        "iree-list-plugins",
        "iree-llvmcpu-list-targets",
    }
)
_TRUE = ("", "true", "TRUE", "True", "1")
_FALSE = ("false", "FALSE", "False", "0")
_SWITCHES: Final = {"verify": "true", "emit-mlir-bytecode": "false", "split-input-file": "false"}
_VALUES = frozenset(
    {
        "o",
        "output-format",
        "compile-mode",
        "compile-from",
        "compile-to",
        "dump-compilation-phases-to",
        "emit-mlir-bytecode-version",
        "remarks-filter",
        "remarks-output-file",
    }
)


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """What iree-compile's driver is told.

    Attributes:
        input: The file to compile, `-` for stdin.
        output: The file to write, `-` for stdout.
        output_format: One of `FORMATS`.
        compile_from: The phase that the input has been through.
        compile_to: The phase after which to stop.
        verify: Verify the IR after every pass.
        split: The input's parts, between lines of `// -----`, are compiled one by one.
        bytecode: IR is written as bytecode.
        bytecode_version: Of that bytecode, -1 for the newest.
        dump_phases_to: A folder for the IR after each phase; empty for none.
        remarks_filter: Regular expression on categories of optimisation remarks.
        remarks_file: The file for them.
        flags: All that LLVM's parser is to read, in order.
    """

    input: str
    output: str
    output_format: str
    compile_from: str
    compile_to: str
    verify: bool
    split: bool
    bytecode: bool
    bytecode_version: int
    dump_phases_to: str
    remarks_filter: str
    remarks_file: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, or two where the second is the first one's value.

    Attributes:
        name: Without dashes; empty for a positional argument.
        value: None where it has none.
        raw: As given.
    """

    name: str
    value: str | None
    raw: tuple[str, ...]


def expand_response_files(arguments: Sequence[str], within: frozenset[Path] = frozenset()) -> list[str]:
    """Put what a file holds in the place of `@file`, as LLVM does; an `@name` of no file stays.

    Args:
        arguments: Without the program's name.
        within: Files that they come from.

    Raises:
        UsageError: A file cannot be read, is no text, leaves a quotation open or holds itself.
    """
    found: list[str] = []
    for argument in arguments:
        path = Path(argument[1:])
        if argument.startswith("@") and path.is_file():
            inner = within | {path.resolve()}
            if inner == within:
                raise UsageError("holds itself", file=argument[1:], hint="a response file lists arguments")
            found += expand_response_files(_arguments(path), inner)
        else:
            found.append(argument)
    return found


def _arguments(path: Path) -> list[str]:
    try:
        return shlex.split(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"byte {error.start} is not UTF-8", file=str(path), hint="a response file lists arguments as text"
        ) from error
    except ValueError as error:
        raise UsageError(str(error).lower(), file=str(path), hint="quote as a shell does") from error


def scan(arguments: Sequence[str], takes_value: Callable[[str], bool]) -> Iterator[Argument]:
    """Tell flags with their values from positional arguments, by LLVM's rules.

    Args:
        arguments: Without the program's name.
        takes_value: Whether a flag, named without dashes, takes the next argument as its value.
    """
    items = iter(arguments)
    for item in items:
        if item == "--":
            yield from (Argument("", None, (rest,)) for rest in items)
        elif item == "-" or not item.startswith("-"):
            yield Argument("", None, (item,))
        else:
            name, equals, value = item.lstrip("-").partition("=")
            following = next(items, None) if not equals and takes_value(name) else None
            raw = (item,) if following is None else (item, following)
            yield Argument(name, value if equals else following, raw)


def asks_for_information(arguments: Iterable[str]) -> bool:
    """Whether iree-compile would print something about itself and end."""
    return any(argument.startswith("-") and argument.lstrip("-") in _INFORMATION for argument in arguments)


def asks_for_help(arguments: Iterable[str]) -> bool:
    """Whether `--help` is asked for, in one of its kinds."""
    return any(argument.startswith("-") and argument.lstrip("-").startswith("help") for argument in arguments)


def driver_options(arguments: Sequence[str], valued: Callable[[], frozenset[str]]) -> DriverOptions | None:
    """What the driver is told; None where iree-compile is to have the command line as it is.

    Args:
        arguments: Without the program's name and without flags of ours.
        valued: The names of all flags that need a value; asked for only where the command
            line is ambiguous without.
    """
    if asks_for_information(arguments):
        return None
    positional = [item for item in scan(arguments, _known_values) if not item.name]
    takes_value = _known_values if len(positional) == 1 else _all_values(valued)
    given: dict[str, str | None] = {}
    inputs: list[str] = []
    flags: list[str] = []
    for argument in scan(arguments, takes_value):
        if not argument.name:
            inputs += argument.raw
        elif argument.name not in _SWITCHES.keys() | _VALUES:
            flags += argument.raw
        else:  # of a flag given twice the last one counts
            given[argument.name] = argument.value
    return _options(inputs[0], given, tuple(flags)) if len(inputs) == 1 else None


def _known_values(name: str) -> bool:
    return name in _VALUES


def _all_values(valued: Callable[[], frozenset[str]]) -> Callable[[str], bool]:
    names = valued() | _VALUES
    return lambda name: name in names


def _options(file: str, given: Mapping[str, str | None], flags: tuple[str, ...]) -> DriverOptions | None:
    """None where a value is wrong, or what is asked for lies outside the phases that we change."""
    if any(given[name] is None for name in _VALUES & given.keys()):
        return None
    text = {name: value or "" for name, value in given.items()}
    switches = {name: switch(text.get(name, default)) for name, default in _SWITCHES.items()}
    version = text.get("emit-mlir-bytecode-version", "0")
    first, last = text.get("compile-from", "start"), text.get("compile-to", "end")
    style = text.get("output-format", "vm-bytecode")
    sound = (
        text.get("compile-mode", "std") == "std"
        and style in FORMATS
        and first in PHASES
        and last in PHASES
        and PHASES.index(first) < PHASES.index(last)
        and None not in switches.values()
        and version.isdecimal()
    )
    if not sound:
        return None
    return DriverOptions(
        input=file,
        output=text.get("o", "-"),
        output_format=style,
        compile_from=first,
        compile_to=last,
        verify=bool(switches["verify"]),
        split=bool(switches["split-input-file"]),
        bytecode=bool(switches["emit-mlir-bytecode"]),
        bytecode_version=int(version) if "emit-mlir-bytecode-version" in text else -1,
        dump_phases_to=text.get("dump-compilation-phases-to", ""),
        remarks_filter=text.get("remarks-filter", ""),
        remarks_file=text.get("remarks-output-file", "mlir-remarks.yaml"),
        flags=flags,
    )


def switch(value: str) -> bool | None:
    """LLVM's spellings of a truth value; None for anything else."""
    return True if value in _TRUE else False if value in _FALSE else None


def passes_stream(options: DriverOptions) -> bool:
    """Whether the way from `compile_from` to `compile_to` leads through phase `stream`."""
    stream = PHASES.index("stream")
    return PHASES.index(options.compile_from) < stream <= PHASES.index(options.compile_to)


def is_onnx(file: str) -> bool:
    """Whether `file` is an ONNX model by its name, which iree-compile would not take."""
    return file.lower().endswith(".onnx")
