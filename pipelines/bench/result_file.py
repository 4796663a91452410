"""Result files: a markdown table, and below it what every one says of how it was made."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("iree-base-compiler", "iree-base-runtime", "onnx", "onnxruntime", "numpy")


def result_file(title: str, text: str, command: str, *, packages: Sequence[str] = PACKAGES) -> str:
    """The whole file."""
    return f"# {title}\n\n{text}\n\n{circumstances(command, packages)}\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table whose first column is text and the others figures."""
    rule = ["---", *("---:" for _ in heads[1:])]
    heads = [head.replace("\n", " ") for head in heads]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


def circumstances(command: str, packages: Sequence[str] = PACKAGES) -> str:
    """Command, date, commit, versions and machine, as a markdown list."""
    versions = ", ".join(["", *(f"{name} {version(name)}" for name in packages)])
    commit = _output("git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty")
    cpu = next((line for line in _cpu_info() if line.startswith("model name")), platform.processor())
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"- command: `{command}`\n"
        f"- date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit}\n"
        f"- Python {platform.python_version()}{versions}\n"
        f"- {cpu.partition(':')[2].strip() or cpu}, {os.cpu_count()} CPUs, load average at the end {load}"
    )


def _cpu_info() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (git, no shell)
    except FileNotFoundError:  # no git here
        return "unknown"
    return done.stdout.strip() or "unknown"
