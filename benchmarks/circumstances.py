"""Where benchmarks find their models, and what they write."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import onnx

# Models are prepared and run as the tests do it.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "e2e"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))
from networks import nasnet, randwire
from random_weights import weight_bytes, with_random_weights

from serenity_mlir.pipelines.bench.result_file import result_file

REPO = Path(__file__).resolve().parent.parent
SHARED = REPO.parent / "shared" / "models"
SETS = ("shared", "light", "networks")
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


def write(path: Path, title: str, text: str) -> None:
    """Write a result file, or replace it whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(result_file(title, text, shlex.join(["python", *sys.argv])))
