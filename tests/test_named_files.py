"""Descriptions in TOML files: the shipped ones, the user's own, and what is said of bad ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.firmware.targets import firmware_target
from serenity_mlir.reform.profile import profile

Find = Callable[[str], object]


@pytest.fixture(params=[(profile, "profile", "--profile"), (firmware_target, "firmware target", "--target")])
def kind(request: pytest.FixtureRequest) -> tuple[Find, str, str]:
    """What finds a description, what messages call it, and its option."""
    found: tuple[Find, str, str] = request.param
    return found


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"name = '\xff'", "byte 8 is not UTF-8\n  hint: TOML is UTF-8 text"),
        (b"name = ", "Invalid value .*\n  hint: see .*toml of the package"),
        (b"title = 1", "unknown field `title`\n  hint: see .*toml of the package"),
    ],
    ids=["not UTF-8", "no TOML", "another TOML"],
)
def test_a_file_that_describes_nothing(
    data: bytes, said: str, kind: tuple[Find, str, str], tmp_path: Path
) -> None:
    find, what, _ = kind
    file = tmp_path / "own.toml"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=rf"own.toml: no {what}: .*{said}"):
        find(str(file))


def test_names_and_files_that_are_not_there(kind: tuple[Find, str, str], tmp_path: Path) -> None:
    find, what, option = kind
    with pytest.raises(UsageError, match=rf"no {what} 'zzz'\n  hint: {option} is one of \w+.*, or a .toml"):
        find("zzz")
    with pytest.raises(UsageError, match=rf"none.toml: cannot be read: No such .*\n  hint: {option} is"):
        find(str(tmp_path / "none.toml"))
