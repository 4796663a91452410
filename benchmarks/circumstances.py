"""What every result file says of how it was made, and where benchmarks find their models."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import onnx

# Models are prepared and run as the tests do it.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "e2e"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))
from networks import nasnet, randwire
from random_weights import weight_bytes, with_random_weights

REPO = Path(__file__).resolve().parent.parent
SHARED = REPO.parent / "shared" / "models"
SETS = ("shared", "light", "networks")
PACKAGES = ("iree-base-compiler", "iree-base-runtime", "onnx", "onnxruntime", "numpy")
_CONSTANTS_FROM_IR = 4


def models(sets: Sequence[str], names: Sequence[str]) -> list[Path]:
    """The models of some of `SETS`, those of which a name is a part of theirs."""
    found: list[Path] = []
    if "shared" in sets:
        found += sorted(SHARED.glob("*.onnx"))
        if not found:
            print(f"{SHARED} is absent: its models are left out", file=sys.stderr)
    if "light" in sets:
        found += sorted(Path(onnx.__file__).parent.glob("backend/test/data/light/*.onnx"))
    if "networks" in sets:
        found += _networks(REPO / "build" / "benchmarks")
    return [path for path in found if not names or any(name in path.stem for name in names)]


def _networks(folder: Path) -> list[Path]:
    """NASNet-A mobile as published, the demo's smaller one, and two randomly wired networks."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "nasnet_a_mobile_224": nasnet(size=224, repeats=4),
        "nasnet_a_demo": nasnet(),
        "randwire_ws32_s0": randwire(),
        "randwire_ws32_s1": randwire(seed=1),
    }
    for name, model in made.items():
        onnx.save(model, folder / f"{name}.onnx")
    return [folder / f"{name}.onnx" for name in made]


def with_weights(model: Path, folder: Path) -> Path:
    """The model itself, or a copy with random weights in `folder` where it makes them up when run."""
    loaded = onnx.load(model)
    if not weight_bytes(loaded):
        return model
    weighted = with_random_weights(loaded)
    # Before, weights that are not inputs too were not allowed, and stock's importer takes offence.
    weighted.ir_version = max(weighted.ir_version, _CONSTANTS_FROM_IR)
    onnx.save(weighted, folder / model.name)
    return folder / model.name


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table whose first column is text and the others figures."""
    rule = ["---", *("---:" for _ in heads[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


def circumstances() -> str:
    """Command, date, commit, versions and machine, as a markdown list."""
    command = shlex.join(["python", *sys.argv])
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    commit = _output("git", "-C", str(REPO), "describe", "--always", "--dirty")
    cpu = next((line for line in _cpu_info() if line.startswith("model name")), platform.processor())
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"- command: `{command}`\n"
        f"- date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit}\n"
        f"- Python {platform.python_version()}, {versions}\n"
        f"- {cpu.partition(':')[2].strip() or cpu}, {os.cpu_count()} CPUs, load average at the end {load}"
    )


def _cpu_info() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def write(path: Path, title: str, text: str) -> None:
    """Write a result file, or replace it whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# {title}\n\n{text}\n\n{circumstances()}\n")
