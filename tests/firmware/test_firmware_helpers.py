"""Functions that objects leave to others: called as the toolchain defines them, or as C23 does."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from firmware_harness import (
    HERE,
    SANITIZERS,
    STRICT,
    Case,
    assert_agrees,
    build,
    call,
    compile_firmware,
    run,
    target_named,
)

from serenity_mlir.pipelines.firmware.helpers import HELPERS

_COUNT = 16
_SOFT = ["__addsf3", "__subsf3", "__mulsf3", "__divsf3", "__ltsf2", "__fixsfsi"]
_LONG = ["__divdi3", "__moddi3", "__udivdi3", "__umoddi3"]
_LONG_FLOAT = ["__fixsfdi", "__fixunssfdi", "__floatdisf", "__floatundisf"]
_LONG_DOUBLE = ["__fixdfdi", "__fixunsdfdi", "__floatdidf", "__floatundidf"]
_DOUBLE = ["__adddf3", "__subdf3", "__muldf3", "__divdf3", "__ltdf2", "__extendsfdf2", "__truncdfsf2"]
_DOUBLE += ["__floatsidf", "__fixdfsi"]
_ROUND = ["floorf", "ceilf", "roundf", "truncf"]


@dataclass(frozen=True)
class Ops:
    """Element-wise ops on inputs `x0`, `x1` …, and what NumPy makes of the same inputs."""

    inputs: tuple[str, ...]
    ops: tuple[tuple[str, str, Any], ...]  # op and operands, type of the result, NumPy's


def _type(element: str) -> str:
    return f"tensor<{_COUNT}x{element}>"


_X, _Y, _Z = "%x0 : " + _type("f32"), "%x0, %x1 : " + _type("f32"), "%x0, %x1, %x2 : " + _type("f32")
_L, _D = "%x0, %x1 : " + _type("i64"), "%x0, %x1 : " + _type("f64")


def _converted(op: str, source: int, given: str, made: str) -> tuple[str, str, Any]:
    """An op from the type `given` of input `source` to the type `made`."""
    dtype = {"f": "float", "i": "int"}[made[0]] + made[1:]
    text = f"arith.{op} %x{source} : {_type(given)} to {_type(made)}"
    return text, made, lambda *x: x[source].astype(dtype)


def _unsigned(compute: Any) -> Any:
    return lambda x, y: compute(x.view(np.uint64), y.view(np.uint64)).view(np.int64)


def _from_unsigned(dtype: str) -> Any:
    return lambda x, _: x.view(np.uint64).astype(dtype)


def _half_away(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    away: npt.NDArray[Any] = np.copysign(np.floor(np.abs(x) + 0.5), x)
    return away


PROGRAMS = {
    "round": Ops(
        ("f32", "f32", "f32"),
        (
            (f"math.floor {_X}", "f32", lambda x, y, z: np.floor(x)),
            (f"math.ceil {_X}", "f32", lambda x, y, z: np.ceil(x)),
            (f"math.round {_X}", "f32", lambda x, y, z: _half_away(x)),
            (f"math.trunc {_X}", "f32", lambda x, y, z: np.trunc(x)),
            (f"math.fma {_Z}", "f32", lambda x, y, z: (x.astype(np.float64) * y + z).astype(np.float32)),
            (f"arith.maxnumf {_Y}", "f32", lambda x, y, z: np.maximum(x, y)),
            (f"arith.minnumf {_Y}", "f32", lambda x, y, z: np.minimum(x, y)),
            (f"arith.maximumf {_Y}", "f32", lambda x, y, z: np.maximum(x, y)),
            (f"arith.minimumf {_Y}", "f32", lambda x, y, z: np.minimum(x, y)),
        ),
    ),
    "float": Ops(
        ("f32", "f32"),
        (
            (f"arith.addf {_Y}", "f32", lambda x, y: x + y),
            (f"arith.subf {_Y}", "f32", lambda x, y: x - y),
            (f"arith.mulf {_Y}", "f32", lambda x, y: x * y),
            (f"arith.divf {_Y}", "f32", lambda x, y: x / y),
            (f"arith.cmpf olt, {_Y}", "i1", lambda x, y: x < y),
            _converted("fptosi", 0, "f32", "i32"),
        ),
    ),
    "long": Ops(
        ("i64", "i64"),
        (
            (f"arith.divsi {_L}", "i64", lambda x, y: np.trunc(x / y).astype(np.int64)),
            (f"arith.remsi {_L}", "i64", np.fmod),
            (f"arith.divui {_L}", "i64", _unsigned(np.floor_divide)),
            (f"arith.remui {_L}", "i64", _unsigned(np.remainder)),
        ),
    ),
    "long and float": Ops(
        ("i64", "f32"),
        (
            _converted("sitofp", 0, "i64", "f32"),
            _converted("fptosi", 1, "f32", "i64"),
            (f"arith.uitofp %x0 : {_type('i64')} to {_type('f32')}", "f32", _from_unsigned("float32")),
            (f"math.absf %x1 : {_type('f32')}", "f32", lambda x, y: np.abs(y)),
            (
                f"arith.fptoui %y3 : {_type('f32')} to {_type('i64')}",
                "i64",
                lambda x, y: np.abs(y).astype("int64"),
            ),
        ),
    ),
    "long and double": Ops(
        ("i64", "f64"),
        (
            _converted("sitofp", 0, "i64", "f64"),
            _converted("fptosi", 1, "f64", "i64"),
            (f"arith.uitofp %x0 : {_type('i64')} to {_type('f64')}", "f64", _from_unsigned("float64")),
            (f"math.absf %x1 : {_type('f64')}", "f64", lambda x, y: np.abs(y)),
            (
                f"arith.fptoui %y3 : {_type('f64')} to {_type('i64')}",
                "i64",
                lambda x, y: np.abs(y).astype("int64"),
            ),
        ),
    ),
    "double": Ops(
        ("f64", "f64", "f32", "i32"),
        (
            (f"arith.addf {_D}", "f64", lambda x, y, f, i: x + y),
            (f"arith.subf {_D}", "f64", lambda x, y, f, i: x - y),
            (f"arith.mulf {_D}", "f64", lambda x, y, f, i: x * y),
            (f"arith.divf {_D}", "f64", lambda x, y, f, i: x / y),
            (f"arith.cmpf olt, {_D}", "i1", lambda x, y, f, i: x < y),
            _converted("extf", 2, "f32", "f64"),
            _converted("truncf", 0, "f64", "f32"),
            _converted("sitofp", 3, "i32", "f64"),
            _converted("fptosi", 0, "f64", "i32"),
        ),
    ),
}
# What the object must call, or the test would say nothing of it.
CALLS = {
    ("cortex-m4f", "round"): [*_ROUND, "fmaxf", "fminf"],
    ("cortex-m4f", "long"): _LONG,
    ("cortex-m4f", "long and float"): _LONG_FLOAT,
    ("cortex-m33", "long and float"): _LONG_FLOAT,
    ("cortex-m7", "long"): _LONG,
    ("cortex-m7", "long and float"): _LONG_FLOAT,
    ("cortex-m7", "long and double"): _LONG_DOUBLE,
    ("cortex-m55", "long and double"): _LONG_DOUBLE,
    ("cortex-m55-mve", "long and float"): _LONG_FLOAT,
    ("cortex-m55-mve", "long and double"): _LONG_DOUBLE,
    ("riscv32-imafc", "round"): [],
    ("riscv32-imafc", "long"): _LONG,
    ("riscv32-imafc", "long and float"): _LONG_FLOAT,
    ("riscv32-imafc", "double"): _DOUBLE,
    ("riscv32-imac", "round"): [*_ROUND, "fmaf", "fmaxf", "fminf", "fmaximumf", "fminimumf"],
    ("riscv32-imac", "float"): _SOFT,
    ("riscv32-imac", "long and float"): _LONG_FLOAT,
    ("riscv32-imac", "double"): _DOUBLE,
}


def text(program: Ops) -> str:
    arguments = ", ".join(f"%x{number}: {_type(element)}" for number, element in enumerate(program.inputs))
    results = ", ".join(_type(element) for _, element, _ in program.ops)
    lines = [f"%y{number} = {op}" for number, (op, _, _) in enumerate(program.ops)]
    made = ", ".join(f"%y{number}" for number in range(len(program.ops)))
    body = "\n  ".join([*lines, f"return {made} : {results}"])
    return f"func.func @main({arguments}) -> ({results}) {{\n  {body}\n}}\n"


def values(element: str, rng: np.random.Generator) -> npt.NDArray[Any]:
    if element.startswith("f"):
        made = rng.uniform(-99, 99, _COUNT).astype(f"float{element[1:]}")
        made[:4] = [2.5, -2.5, 0.5, -7.0]
        return made
    made = (
        rng.integers(-(1 << 40), 1 << 40, _COUNT) if element == "i64" else rng.integers(-9999, 9999, _COUNT)
    )
    return made.astype(f"int{element[1:]}")


@pytest.mark.parametrize(("board", "name"), CALLS)
def test_the_toolchain_is_called_as_it_wants(board: str, name: str, tmp_path: Path) -> None:
    target = target_named(board)
    program = PROGRAMS[name]
    model = tmp_path / "m.mlir"
    model.write_text(text(program))
    library = compile_firmware(model, board, tmp_path / "lib", "--", "--iree-input-demote-f64-to-f32=false")
    symbols = json.loads((library / "metadata.json").read_text("utf-8"))["symbols"]
    assert set(CALLS[board, name]) <= {*symbols["libraries"], *symbols["source"]}
    rng = np.random.default_rng(3)
    inputs = [values(element, rng) for element in program.inputs]
    case = Case("net", library, inputs, [compute(*inputs) for _, _, compute in program.ops])
    assert_agrees(run(build(case, target, tmp_path / "b"), target), case)


def test_extrema_are_those_of_c23(tmp_path: Path) -> None:
    target_named("host")
    source = tmp_path / "helpers.c"
    text = "\n".join(["#include <stdint.h>", "#include <string.h>", *HELPERS.values()])
    source.write_text(f"{text}\n{(HERE / 'helpers.c').read_text('ascii')}")
    binary = tmp_path / "helpers"
    call(["gcc", *STRICT, *SANITIZERS, str(source), "-o", str(binary), "-lm"])
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
