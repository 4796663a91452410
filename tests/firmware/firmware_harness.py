"""Build a firmware library's test program, run it on the host or an emulated board, read what it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest

from serenity_mlir.pipelines.firmware.targets import FirmwareTarget, firmware_target
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.verify import random_inputs

HERE = Path(__file__).parent
BOARD = HERE.parent.parent / "examples" / "firmware" / "board"
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
Arrays = list[npt.NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """A library, inputs for it, and what a reference makes of them."""

    name: str
    library: Path
    inputs: Arrays
    expected: Arrays


@dataclass(frozen=True)
class Result:
    """What the program printed: outputs of each turn, and figures by name."""

    outputs: list[list[bytes]]
    figures: dict[str, int]


def reference_case(model: Path, library: Path, name: str) -> Case:
    """Random inputs of fixed seed, and onnxruntime's results."""
    source = load_model(model)
    inputs = random_inputs(source.inputs)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return Case(name, library, list(inputs.values()), session.run(None, inputs))


def serenity(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The `serenity` command, in a process of its own: some of IREE's flags hold for a whole process."""
    command = [sys.executable, "-m", "serenity_mlir.pipelines.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def compile_firmware(model: Path, target: str, folder: Path, *more: str, name: str = "net") -> Path:
    """The library's folder; the test fails with the compiler's words where it refuses."""
    arguments = ("--emit", "firmware", "--target", target, "--name", name, "-o", folder)
    done = serenity("compile", model, *arguments, *more)
    assert done.returncode == 0, done.stderr
    return folder


def need(target: FirmwareTarget) -> None:
    """Skip where the target's tools are not installed."""
    tools = [target.toolchain.compiler, *(target.board.emulate[:1] if target.board else ())]
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        packages = " ".join(target.toolchain.packages)
        pytest.skip(f"no {', '.join(missing)}: apt-get install {packages}")


def write_case(case: Case, folder: Path, *, external: bool = False) -> Path:
    """`case.h` with the inputs and, where the caller owns them, room for the outputs."""
    lines = []
    for number, array in enumerate(case.inputs):
        data = ",".join(map(str, array.tobytes()))
        aligned = "__attribute__((aligned(64)))"
        lines.append(f"static const unsigned char input_{number}[] {aligned} = {{{data}}};")
        if array.nbytes:
            lines.append(
                f"typedef char check_{number}[sizeof input_{number} == "
                f"{case.name}_INPUT_{number}_BYTES ? 1 : -1];"
            )
    listed = ", ".join(f"input_{number}" for number in range(len(case.inputs)))
    sizes = ", ".join(f"sizeof input_{number}" for number in range(len(case.inputs)))
    lines.append(f"static const unsigned char *const inputs[] = {{{listed}}};")
    if not external:
        lines.append(f"static const unsigned long input_bytes[] = {{{sizes}}};")
    sizes = ", ".join(f"{case.name}_OUTPUT_{number}_BYTES" for number in range(len(case.expected)))
    lines.append(f"static const unsigned long output_bytes[] = {{{sizes}}};")
    if external:
        for number, array in enumerate(case.expected):
            lines.append(f"static unsigned char output_{number}[{array.nbytes}] {aligned};")
        listed = ", ".join(f"output_{number}" for number in range(len(case.expected)))
        lines.append(f"static unsigned char *const outputs[] = {{{listed}}};")
    path = folder / "case.h"
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


def build(  # noqa: PLR0913  (what programs differ in)
    case: Case,
    target: FirmwareTarget,
    folder: Path,
    *,
    external: bool = False,
    driver: Path = HERE / "driver.c",
    more: Sequence[str] = (),
) -> Path:
    """Compile and link the test program; warnings are errors."""
    folder.mkdir(parents=True, exist_ok=True)
    header = write_case(case, folder, external=external)
    include = ["-I", str(case.library / "include"), f"-DMODEL={case.name}", "-include", f"{case.name}.h"]
    include += ["-include", str(header), *(["-DEXTERNAL"] if external else [])]
    source = case.library / "src" / f"{case.name}.c"
    sources = [str(driver), str(folder / "net_source.o")]
    binary = folder / "program"
    objects = [str(case.library / "lib" / f"{case.name}.o"), *target.linkage.libraries]
    linking: list[str] = []
    flags = [*STRICT, "-O2", "-ffunction-sections", "-fdata-sections"]
    if target.board is None:
        flags += [*SANITIZERS, "-DHOST", "-D_POSIX_C_SOURCE=200809L", "-pthread"]
    else:
        flags += [*target.toolchain.flags, "-I", str(BOARD), f"-DBOARD_HZ={target.board.clock_hz}u"]
        linking = ["-nostartfiles", "-Wl,--gc-sections", f"-Wl,-Map={folder / 'program.map'}"]
        linking += ["-L", str(BOARD), "-T", f"{target.board.name}.ld"]
        sources += [str(BOARD / "start.c"), str(BOARD / "semihosting.c")]
    compiler = target.toolchain.compiler
    # The library's source stands alone, under its own name in the map.
    call([compiler, *flags, *include[:2], "-c", str(source), "-o", str(folder / "net_source.o"), *more])
    call([compiler, *flags, *include, *sources, *objects, *linking, *more, "-o", str(binary)])
    return binary


def call(command: list[str]) -> None:
    """Run a tool; the test fails with its words where it does."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run(binary: Path, target: FirmwareTarget, *, counting: bool = False) -> Result:
    """Run the program; the test fails with its words where it does."""
    command = [str(binary)]
    if target.board is not None:
        counter = ["-icount", "shift=0"] if counting else []
        command = [*target.board.emulate[:1], *counter, *target.board.emulate[1:], str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    outputs: list[dict[int, str]] = [{}, {}]
    figures: dict[str, int] = {}
    for line in said.splitlines():
        what, _, value = line.partition(" ")
        if len(what) == 2 and what[0] in "ab":
            turn = outputs["ab".index(what[0])]
            turn[int(what[1])] = turn.get(int(what[1]), "") + value
        else:
            figures[what] = int(value)
    return Result([[bytes.fromhex(turn[key]) for key in sorted(turn)] for turn in outputs], figures)


def assert_agrees(result: Result, case: Case) -> None:
    """Both turns are equal, integers are the reference's to the bit, floats to 1e-4 of its largest."""
    assert result.outputs[0] == result.outputs[1]
    assert len(result.outputs[0]) == len(case.expected)
    for data, expected in zip(result.outputs[0], case.expected, strict=True):
        found = np.frombuffer(data, expected.dtype).reshape(expected.shape)
        if expected.dtype.kind == "f":
            scale = float(np.abs(expected).max(initial=0.0))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * scale + 1e-6)
        else:
            np.testing.assert_array_equal(found, expected)


def assert_arena_is_used(result: Result, library: Path) -> None:
    """What was written of a painted arena ends where the plan does, but for the last buffer's padding."""
    memory = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]
    assert memory["arena"] - memory["alignment"] < result.figures["arena"] <= memory["arena"]


def target_named(name: str) -> FirmwareTarget:
    """The target, where its tools are installed."""
    target = firmware_target(name)
    need(target)
    return target
