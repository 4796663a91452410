"""Firmware beside TensorFlow Lite for Microcontrollers and beside IREE's default order, on emulated boards.

    python benchmarks/firmware.py [--targets NAME…] [--jobs 2] [--keep FOLDER] [NAMES…]

Models come from ../shared/models. Each is compiled for each target with `--objective memory`, without
rewrites and regions ("reordered"), and without any of it ("IREE's order"); for the Cortex-M7 with the default
objective ("balanced") too, for RV32IMAC with the first alone, as it runs long without an FPU. Each library
runs in the emulator; before a row is written, its results are compared with onnxruntime's, and what was
written of its painted arena with the plan. Memory is that of `--objective memory`: the arena, with inputs
and outputs in it; what IREE's runtime allocates for the same model (the slab of stock IREE in the best of its
modes, inputs and outputs; its structures and code left out); stack and flash as `metadata.json` has them,
from a linked program: the deepest chain of calls, and object, generated source (its weights apart) and
functions of libm and libgcc. Instructions are those of one call (QEMU, -icount shift=0).

TFLM's arena is what its interpreter says of the model's TFLite twin, in a process of the Python that --tflm
names, which has `tflite-micro` installed: "head" holds activations, inputs and outputs; "total" adds its
structures, which a firmware library has in flash.

With --keep, what was measured of a model on a target is kept in a folder, and a run that was ended goes on
from there: figures of the same sources (commit and changes) are not measured again.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from circumstances import REPO, SHARED, models, write

sys.path.append(str(REPO / "tests" / "firmware"))
from firmware_harness import assert_agrees, assert_arena_is_used, build, compile_firmware, reference_case, run
from small_networks import MODELS

from serenity_mlir.pipelines.bench.result_file import table
from serenity_mlir.pipelines.firmware.targets import firmware_target
from serenity_mlir.report import read_report

TFLM_VERSION = "0.dev20261023182759"
TARGETS = ("cortex-m4f", "cortex-m7", "cortex-m55", "riscv32-imafc", "riscv32-imac")
BASIS = "cortex-m7"  # whose code other targets' is measured against
FEWER = {BASIS: (), "riscv32-imac": ("balanced", "reordered", "order")}  # kinds left out, as they take long
LIMITS = ("--time-limit", "60")  # of the clock: a busy machine is slow
KINDS = {
    "memory": ("--objective", "memory"),
    "balanced": (),
    "reordered": ("--no-rewrite", "--no-regions"),
    "order": ("--no-schedule", "--no-rewrite", "--no-regions"),
}
MEMORY_HEADS = (
    *("model", "target", "arena", "stack", "TFLM head", "TFLM total", "IREE's runtime"),
    *("weights", "object", "source", "libraries", "object / M7's"),
)
COST_HEADS = (
    *("model", "target", "arena, memory", "balanced", "reordered", "IREE's order"),
    *("instructions, memory", "balanced", "reordered", "IREE's order"),
)
_ASK = """\
import sys
from tflite_micro import runtime
runtime.Interpreter.from_file(
    sys.argv[1], intrepreter_config=runtime.InterpreterConfig.kAllocationRecording).print_allocations()
"""


@dataclass(frozen=True)
class Measured:
    """A model on a target, by kind: `memory` of `metadata.json`, and the instructions of a call."""

    memory: dict[str, dict[str, Any]]
    instructions: dict[str, int]
    runtime: int | None


def measured(model: Path, target_name: str, folder: Path) -> Measured:
    """Figures of a model on a target, compiled in each way."""
    target = firmware_target(target_name)
    memory: dict[str, dict[str, Any]] = {}
    instructions: dict[str, int] = {}
    for kind, options in KINDS.items():
        if kind in FEWER.get(target_name, ("balanced",)):
            continue
        place = folder / kind
        place.mkdir()
        stock = ("--compare-stock", "--report", str(place / "report.json")) if kind == "order" else ()
        library = compile_firmware(model, target_name, place / "lib", *options, *LIMITS, *stock)
        case = reference_case(model, library, "net")
        result = run(build(case, target, place / "b"), target, counting=True)
        assert_agrees(result, case)
        assert_arena_is_used(result, library)
        memory[kind] = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]
        instructions[kind] = result.figures["instructions"]
    return Measured(memory, instructions, runtime(folder / "order" / "report.json"))


def sources() -> str:
    """A name for the checkout as it is: its commit, and changes of files that it has, results left out."""
    git = ("git", "-C", str(REPO))
    at = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, check=True).stdout
    changes = [*git, "diff", "HEAD", "--", ".", ":!benchmarks/results"]
    return sha256(at + subprocess.run(changes, capture_output=True, check=True).stdout).hexdigest()[:12]


def kept(folder: Path | None, model: Path, target: str, at: str) -> Measured | None:
    """What an earlier run of the same sources measured; None where there is nothing."""
    place = None if folder is None else folder / f"{model.stem}.{target}.{at}.json"
    return msgspec.json.decode(place.read_bytes(), type=Measured) if place and place.exists() else None


def keep(folder: Path | None, model: Path, target: str, at: str, found: Measured) -> None:
    """Keep what was measured for a later run."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{model.stem}.{target}.{at}.json").write_bytes(msgspec.json.encode(found))


def runtime(report: Path) -> int | None:
    """What IREE's runtime allocates, by a report with stock's figures; None where there is no report."""
    if not report.exists():
        return None
    found = read_report(report).memory
    if found.stock is None:
        raise ValueError("--compare-stock left no figures of stock")
    return sum(size or 0 for size in (found.stock.best, found.inputs, found.outputs))


def memory_row(found: Measured, basis: Measured | None, tflm_arena: tuple[str, str]) -> list[str]:
    memory = found.memory["memory"]
    linked = memory["linked"]
    against = "-" if basis is None else f"{linked['object'] / basis.memory['memory']['linked']['object']:.2f}"
    return [
        *("-" if memory[key] is None else f"{memory[key]:,}" for key in ("arena", "stack")),
        *tflm_arena,
        "-" if found.runtime is None else f"{found.runtime:,}",
        f"{memory['weights']:,}",
        *(f"{linked[key]:,}" for key in ("object", "source", "libraries")),
        against,
    ]


def cost_row(found: Measured) -> list[str]:
    arenas = [found.memory[kind]["arena"] if kind in found.memory else None for kind in KINDS]
    values = (*arenas, *(found.instructions.get(kind) for kind in KINDS))
    return ["-" if value is None else f"{value:,}" for value in values]


@cache
def tflm(model: str, python: str | None) -> tuple[str, str]:
    """TFLM's arena for the TFLite twin of a model: head and total."""
    twin = SHARED / "tflite" / f"{model.removeprefix('tfl_')}.tflite"
    if python is None or not twin.exists():
        return "-", "-"
    command = [python, "-c", _ASK, str(twin)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = done.stdout + done.stderr
    head, total = (re.search(rf"Arena allocation {what} (\d+)", said) for what in ("head", "total"))
    if head is None or total is None:
        raise ValueError(f"tflite-micro says nothing of an arena: {said}")
    return f"{int(head[1]):,}", f"{int(total[1]):,}"


def tables(found: dict[tuple[Path, str], Measured], tflm_python: str | None) -> str:
    memory, cost = [], []
    for (model, target), item in found.items():
        basis = found.get((model, BASIS))
        memory.append([model.stem, target, *memory_row(item, basis, tflm(model.stem, tflm_python))])
        cost.append([model.stem, target, *cost_row(item)])
    notes = (
        "Bytes. RAM is arena + stack; flash is weights + object + source + libraries. TFLM: tflite-micro "
        f"{TFLM_VERSION}, on the same network for any target."
    )
    return f"{table(MEMORY_HEADS, memory)}\n\n{notes}\n\n## What it costs\n\n{table(COST_HEADS, cost)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("names", nargs="*", help="only models of which one is a part of the name")
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), metavar="NAME")
    parser.add_argument("--tflm", metavar="PYTHON", help=f"with tflite-micro=={TFLM_VERSION}")
    parser.add_argument("--jobs", type=int, default=1, help="compile and run so many at once")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep figures there, and go on from them")
    parser.add_argument("--output", type=Path, default=REPO / "benchmarks" / "results" / "firmware.md")
    options = parser.parse_args()
    names = options.names or MODELS
    # In the order of the names, which has the largest last.
    chosen = sorted(models(["shared"], names), key=lambda path: [name not in path.stem for name in names])
    at = sources()
    wanted = [(model, target) for model in chosen for target in options.targets]

    def one(item: tuple[Path, str]) -> Measured:
        model, target = item
        found = kept(options.keep, model, target, at)
        if found is None:
            with tempfile.TemporaryDirectory() as folder:
                found = measured(model, target, Path(folder))
            keep(options.keep, model, target, at, found)
        print(model.stem, target, *cost_row(found), file=sys.stderr, flush=True)
        return found

    found: dict[tuple[Path, str], Measured] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for item, figures in zip(wanted, pool.map(one, wanted), strict=True):
            found[item] = figures
            write(
                options.output, "Firmware", tables(found, options.tflm)
            )  # what there is, should it be ended


if __name__ == "__main__":
    main()
