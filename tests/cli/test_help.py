"""Help says what there is, and fits a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from serenity_mlir.pipelines.cli.main import serenity
from serenity_mlir.pipelines.firmware.targets import firmware_target_names
from serenity_mlir.pipelines.targets import TARGETS


def commands(command: click.Command, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield names, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, *names, name)


def shown(*names: str) -> str:
    done = CliRunner().invoke(serenity, [*names, "--help"], prog_name="serenity", terminal_width=80)
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize(("names", "command"), list(commands(serenity)))
def test_no_help_is_cut_short_or_left_to_click(names: tuple[str, ...], command: click.Command) -> None:
    text = shown(*names)
    assert max(map(len, text.splitlines())) <= 80
    listed = text.partition("\nCommands:\n")[2]
    assert "..." not in listed
    assert not re.search(r"^  -.* (TEXT|INTEGER|FLOAT|RANGE)\b", text, re.MULTILINE)
    assert [item.name for item in command.params if isinstance(item, click.Option) and not item.help] == []


@pytest.mark.parametrize("name", ["compile", "analyze", "prune"])
def test_targets_are_listed(name: str) -> None:
    words = set(re.findall(r"[\w.-]+\w", shown(name)))
    assert set(TARGETS) <= words
    assert (set(firmware_target_names()) <= words) == (name == "compile")


def test_what_a_compilation_needs_comes_first() -> None:
    text = shown("compile")
    assert "MODEL [-- IREE_FLAG...]" in text
    places = [text.index(f"  {flag} ") for flag in ("-o, --output PATH", "--target", "--io", "--debug")]
    assert places == sorted(places)
