"""Firmware beside TensorFlow Lite for Microcontrollers and beside IREE's default order, on emulated boards.

    python benchmarks/firmware.py [--targets NAME…] [NAMES…]

Models come from ../shared/models. For each model and target: the arena, with inputs and outputs in it; what
IREE's runtime allocates for the same model (the slab of stock IREE in the best of its modes, inputs and
outputs; its structures and code left out); the stack of a call, painted and read back in the emulator; flash
from the linked map, for the object, for the generated source (its weights apart) and for what both take from
libm and libgcc; instructions of one call (QEMU, -icount shift=0): with `--objective memory`, without rewrites
and regions ("reordered"), and without any of it ("IREE's order"). Results are compared with onnxruntime's
before a row is written.

TFLM's arena is what its interpreter says of the model's TFLite twin, in a process of the Python that --tflm
names, which has `tflite-micro` installed: "head" holds activations, inputs and outputs; "total" adds its
structures, which a firmware library has in flash.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from circumstances import REPO, SHARED, models, write

sys.path.append(str(REPO / "tests" / "firmware"))
from firmware_harness import assert_agrees, build, compile_firmware, reference_case, run

from serenity_mlir.pipelines.bench.result_file import table
from serenity_mlir.pipelines.firmware.targets import firmware_target
from serenity_mlir.report import read_report

TFLM_VERSION = "0.dev20261023182759"
TARGETS = ("cortex-m4f", "cortex-m7", "cortex-m55", "riscv32-imafc")
MODELS = (
    "mnist_cntk",
    "tfl_kws_int8",
    "tfl_ic_resnet_int8",
    "tfl_vww96_int8",
    "tfl_tflm_micro_speech",
    "nas_randwire_ws32_4_075_s0",
)
KINDS = {
    "ours": ("--objective", "memory"),
    "reordered": ("--no-rewrite", "--no-regions"),
    "order": ("--no-schedule", "--no-rewrite", "--no-regions"),
}
HEADS = (
    *("model", "target", "arena", "TFLM head", "TFLM total", "IREE's runtime", "stack"),
    *("weights", "object", "source", "libraries", "instructions", "reordered", "IREE's order"),
)
COLUMNS = (
    *("runtime", "stack", "weights", "object", "source", "libraries"),
    *("instructions", "reordered", "order"),
)
_ASK = """\
import sys
from tflite_micro import runtime
runtime.Interpreter.from_file(
    sys.argv[1], intrepreter_config=runtime.InterpreterConfig.kAllocationRecording).print_allocations()
"""
_MAP_LINE = re.compile(r"^ (\.\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$")
_FLASH = (".text", ".rodata", ".srodata", ".data", ".ARM.exidx", ".vectors")


def measured(model: Path, target_name: str, folder: Path) -> dict[str, int]:
    """Figures of a model on a target, for the least memory and in IREE's order."""
    target = firmware_target(target_name)
    found: dict[str, int] = {}
    for kind, options in KINDS.items():
        place = folder / kind
        report = place / "report.json"
        place.mkdir()
        stock = ("--compare-stock", "--report", str(report)) if kind == "order" else ()
        library = compile_firmware(model, target_name, place / "lib", *options, *stock)
        case = reference_case(model, library, "net")
        result = run(build(case, target, place / "b"), target, counting=True)
        assert_agrees(result, case)
        if kind == "order":
            memory = read_report(report).memory
            if memory.stock is None:
                raise ValueError("--compare-stock left no figures of stock")
            found["runtime"] = sum(size or 0 for size in (memory.stock.best, memory.inputs, memory.outputs))
        if kind != "ours":
            found[kind] = result.figures["instructions"]
            continue
        said = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]
        found |= {"arena": said["arena"], "weights": said["weights"], **result.figures, **flash(place / "b")}
        found["arena"] = said["arena"]
        found["source"] -= said["weights"]
    return found


def flash(folder: Path) -> dict[str, int]:
    """Bytes that were linked in, by where they come from: the library's object, its source, libraries."""
    text = (folder / "program.map").read_text("utf-8").partition("Linker script and memory map")[2]
    joined = re.sub(r"^( \.\S+)\n\s+", r"\1 ", text, flags=re.MULTILINE)
    sizes: Counter[str] = Counter()
    for line in joined.splitlines():
        match = _MAP_LINE.match(line)
        if match and int(match[2], 16) and match[1].startswith(_FLASH):
            file = match[4]
            kind = "object" if file.endswith("/net.o") else "source" if "net_source" in file else ""
            sizes[kind or ("libraries" if ".a(" in file else "program")] += int(match[3], 16)
    return {kind: sizes[kind] for kind in ("object", "source", "libraries")}


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("names", nargs="*", help="only models of which one is a part of the name")
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), metavar="NAME")
    parser.add_argument("--tflm", metavar="PYTHON", help=f"with tflite-micro=={TFLM_VERSION}")
    parser.add_argument("--output", type=Path, default=REPO / "benchmarks" / "results" / "firmware.md")
    options = parser.parse_args()
    rows = []
    for model in models(["shared"], options.names or MODELS):
        for target in options.targets:
            with tempfile.TemporaryDirectory() as folder:
                found = measured(model, target, Path(folder))
            row = [model.stem, target, f"{found['arena']:,}", *tflm(model.stem, options.tflm)]
            rows.append([*row, *(f"{found[key]:,}" for key in COLUMNS)])
            print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    notes = (
        "Bytes and instructions. RAM is arena + stack. Flash is weights + object + source + libraries. "
        f"TFLM: tflite-micro {TFLM_VERSION}."
    )
    write(options.output, "Firmware", f"{table(HEADS, rows)}\n\n{notes}")


if __name__ == "__main__":
    main()
