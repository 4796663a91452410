"""What is shown while a command runs: stages on a terminal, nothing elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from serenity_mlir import console


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


def test_a_log_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=False) == ""
