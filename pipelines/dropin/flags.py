"""`--serenity-…`: our own flags on iree-compile's command line, in LLVM's spellings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.dropin.command_line import scan, switch
from serenity_mlir.suggest import hint_of

_PREFIX = "serenity-"
_HELP: Final = {
    "serenity-compare-stock": "Also measure what stock IREE allocates; the table goes to stderr",
    "serenity-disable": "Do nothing of ours: exactly iree-compile",
    "serenity-no-arena": "Leave the packing of the slab to IREE",
    "serenity-no-schedule": "Keep the order of the file",
    "serenity-report": "Write the figures, as `serenity compile --report` does",
    "serenity-time-limit": "For all searches together, 2 by default",
}
_VALUES: Final = {"serenity-report": "<file.json>", "serenity-time-limit": "<seconds>"}


@dataclass(frozen=True, slots=True)
class SerenityFlags:
    """What to do besides what iree-compile does.

    Attributes:
        time_limit: Seconds for all searches together.
        schedule: Search for an order; else the file's is kept.
        arena: Plan the packing of the slab; else it is left to IREE.
        compare_stock: Measure stock IREE too, and print the table to stderr.
        report: Where the figures go as JSON.
        disable: Do nothing of ours.
    """

    time_limit: float = 2.0
    schedule: bool = True
    arena: bool = True
    compare_stock: bool = False
    report: Path | None = None
    disable: bool = False

    def arguments(self) -> list[str]:
        """These flags as a command line gives them."""
        switches = {
            "no-schedule": not self.schedule,
            "no-arena": not self.arena,
            "compare-stock": self.compare_stock,
            "disable": self.disable,
        }
        given = [f"--{_PREFIX}{name}" for name, on in switches.items() if on]
        if self.report is not None:
            given.append(f"--{_PREFIX}report={self.report}")
        return [*given, f"--{_PREFIX}time-limit={self.time_limit}"]

    @property
    def wants_figures(self) -> bool:
        """Whether figures are to be shown or written."""
        return self.compare_stock or self.report is not None


def split_serenity_flags(arguments: Sequence[str]) -> tuple[SerenityFlags, list[str]]:
    """Our flags, and the arguments without them; of a flag given twice the last one counts.

    Raises:
        UsageError: A flag of ours does not exist, or has a wrong value.
    """
    rest: list[str] = []
    given: dict[str, str | None] = {}
    options, positional = _before_separator(arguments)
    for argument in scan(options, _VALUES.__contains__):
        if not argument.name.startswith(_PREFIX):
            rest += argument.raw
        elif argument.name in _HELP:
            given[argument.name] = argument.value
        else:
            hint = hint_of(argument.name, _HELP, "flags of ours are")
            raise UsageError(f"unknown flag '--{argument.name}'", hint=hint)
    flags = SerenityFlags(
        time_limit=_seconds(given.get("serenity-time-limit", "2")),
        schedule=not _truth(given, "serenity-no-schedule"),
        arena=not _truth(given, "serenity-no-arena"),
        compare_stock=_truth(given, "serenity-compare-stock"),
        report=_file(given),
        disable=_truth(given, "serenity-disable"),
    )
    return flags, [*rest, *positional]


def help_text() -> str:
    """Our part of `--help`."""
    lines = [f"  --{name + _argument(name):<34} - {text}" for name, text in _HELP.items()]
    return "\n".join(("Serenity options:", "", *lines, "", ""))


def _argument(name: str) -> str:
    return f"={_VALUES[name]}" if name in _VALUES else ""


def _before_separator(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments before `--`, and those from it on."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:end], arguments[end:]


def _truth(given: dict[str, str | None], name: str) -> bool:
    value = switch(given[name] or "") if name in given else False
    if value is None:
        raise UsageError(
            f"'--{name}={given[name]}' is neither true nor false", hint=f"--{name} alone is true"
        )
    return value


def _seconds(value: str | None) -> float:
    try:
        seconds = float(value or "")
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise UsageError(
            f"'{value or ''}' is no time limit", hint="give --serenity-time-limit a number of seconds"
        )
    return seconds


def _file(given: dict[str, str | None]) -> Path | None:
    if "serenity-report" not in given:
        return None
    if not given["serenity-report"]:
        raise UsageError("--serenity-report needs a file", hint="--serenity-report=FILE.json")
    return Path(given["serenity-report"] or "")
