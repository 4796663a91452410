"""What is shown while a command runs: stages on a terminal, nothing elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from serenity_mlir import console
from serenity_mlir.views.rich_tables import rich_table
from serenity_mlir.views.rows import Table


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    out = io.StringIO()
    fake = Console(file=out, force_terminal=terminal, width=80)
    monkeypatch.setattr(console, "stderr", lambda: fake)
    with console.progress({"schedule": 2.0}) as stage:
        for name in ("schedule", "compile [with] IREE"):
            stage(name)
    return out.getvalue()


def test_a_terminal_shows_stages_and_the_limits_of_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shown(monkeypatch, terminal=True)
    schedule, rest = found.split("compile [with] IREE", 1)
    assert "schedule" in schedule
    assert "limit 2 s" in schedule
    assert "limit" not in rest
    assert "0:00:00" in rest


def test_titles_stay_on_one_line() -> None:
    out, title = io.StringIO(), "longer than its table, with a size of 45,376 bytes (44.3 KiB)"
    Console(file=out, width=200).print(rich_table(Table(title, ("a", "b"), (("x", "1"),)), 80))
    assert out.getvalue().splitlines()[0].rstrip() == title


def test_a_log_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=False) == ""
