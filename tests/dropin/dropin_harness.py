"""Both compilers on the same command lines, and programs for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from serenity_mlir.pipelines.dropin.stock import stock_compiler

Array = npt.NDArray[np.float32]
TARGET = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
_RUN_ONCE = Path(__file__).parent.parent / "e2e" / "run_once.py"
_ENTRY = "import sys; from serenity_mlir.pipelines.cli import contained; sys.exit(contained.{}())"


def dropin(
    *arguments: str | Path, data: bytes | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """`serenity-iree-compile`, as its entry point runs it."""
    return _run([sys.executable, "-c", _ENTRY.format("serenity_iree_compile")], arguments, data, cwd)


def stock(
    *arguments: str | Path, data: bytes | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The real iree-compile."""
    return _run([stock_compiler()], arguments, data, cwd)


def serenity(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """The `serenity` command."""
    return _run([sys.executable, "-c", _ENTRY.format("serenity")], arguments, None, None)


def _run(
    command: list[str], arguments: tuple[str | Path, ...], data: bytes | None, cwd: Path | None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*command, *map(str, arguments)], input=data, capture_output=True, cwd=cwd, check=False, timeout=300
    )


def built(done: subprocess.CompletedProcess[bytes]) -> bytes:
    """What a compiler wrote to stdout; the test fails with its words where it refused."""
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def invoke(module: bytes, inputs: list[Array], folder: Path) -> tuple[list[Array], int]:
    """The results of a module's entry function, and the bytes that its invocation had allocated at most."""
    artefact, given, made = folder / "run.vmfb", folder / "in.npz", folder / "out.npz"
    artefact.write_bytes(module)
    np.savez(given, *inputs)
    done = _run([sys.executable, str(_RUN_ONCE)], (artefact, given, made, "0"), None, None)
    figures = json.loads(built(done))
    with np.load(made) as loaded:
        count = len(loaded.files) // 2
        return [loaded[f"0_{index}"] for index in range(count)], figures["peak"] - figures["loaded"]


def branches(count: int = 4, rows: int = 32, inner: int = 64, wide: int = 256, narrow: int = 8) -> str:
    """Branches that grow wide, then narrow, in the order that keeps all the wide ones alive at once."""
    x, w1, w2 = f"tensor<{rows}x{inner}xf32>", f"tensor<{inner}x{wide}xf32>", f"tensor<{wide}x{narrow}xf32>"
    big, small = f"tensor<{rows}x{wide}xf32>", f"tensor<{rows}x{narrow}xf32>"
    arguments = ", ".join([*(f"%x{index}: {x}" for index in range(count)), f"%w1: {w1}", f"%w2: {w2}"])
    lines = [f"func.func @main({arguments}) -> {small} {{", "  %zero = arith.constant 0.0 : f32"]
    for name, kind in (("big", big), ("small", small)):
        lines += [f"  %e_{name} = tensor.empty() : {kind}", f"  %f_{name} = {_fill(f'%e_{name}', kind)}"]
    for index in range(count):
        lines.append(f"  %b{index} = {_matmul((f'%x{index}', x), ('%w1', w1), ('%f_big', big))}")
    for index in range(count):
        lines.append(f"  %s{index} = {_matmul((f'%b{index}', big), ('%w2', w2), ('%f_small', small))}")
    total = "%s0"
    for index in range(1, count):
        lines.append(f"  %t{index} = arith.addf {total}, %s{index} : {small}")
        total = f"%t{index}"
    return "\n".join([*lines, f"  return {total} : {small}", "}", ""])


def branch_inputs(count: int = 4, rows: int = 32, inner: int = 64, wide: int = 256) -> list[Array]:
    """Arguments for `branches`."""
    generator = np.random.default_rng(7)
    shapes = [(rows, inner)] * count + [(inner, wide), (wide, 8)]
    return [generator.standard_normal(shape).astype(np.float32) for shape in shapes]


CHAIN = """\
func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
  %a = linalg.matmul ins(%x, %x : tensor<16x16xf32>, tensor<16x16xf32>)
                     outs(%fill : tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = linalg.matmul ins(%a, %x : tensor<16x16xf32>, tensor<16x16xf32>)
                     outs(%fill : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %b : tensor<16x16xf32>
}
"""
DYNAMIC = (
    CHAIN.replace("tensor<16x16xf32>", "tensor<?x?xf32>")
    .replace(
        "tensor.empty()",
        "tensor.empty(%d, %d)",
    )
    .replace(
        "  %zero",
        "  %c0 = arith.constant 0 : index\n  %d = tensor.dim %x, %c0 : tensor<?x?xf32>\n  %zero",
    )
)
BROKEN = "func.func @main( {\n"


def _fill(empty: str, kind: str) -> str:
    return f"linalg.fill ins(%zero : f32) outs({empty} : {kind}) -> {kind}"


def _matmul(left: tuple[str, str], right: tuple[str, str], out: tuple[str, str]) -> str:
    """One matmul; each operand is a value and its type."""
    kind = out[1]
    return (
        f"linalg.matmul ins({left[0]}, {right[0]} : {left[1]}, {right[1]}) outs({out[0]} : {kind}) -> {kind}"
    )
