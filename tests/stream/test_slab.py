"""Bytes of modules with loops, branches and several regions, against what the runtime's allocator counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.dialect_passes.stream import host_flow
from serenity_mlir.dialect_passes.stream.host_flow import HostFlow
from serenity_mlir.dialect_passes.stream.regions import functions
from serenity_mlir.pipelines.iree_api import Session
from serenity_mlir.pipelines.lower import lower_to
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.parse_mlir import parse_module
from serenity_mlir.pipelines.targets import compiler_flags

T = "tensor<16x16xf32>"
BYTES = 1024
_RUN_ONCE = Path(__file__).parents[1] / "e2e" / "run_once.py"


def _matmul(name: str, left: str) -> str:
    return f"{name} = linalg.matmul ins({left}, %x : {T}, {T}) outs(%zero : {T}) -> {T}\n"


def _main(body: str) -> str:
    return f"""
func.func @main(%x: {T}, %n: tensor<i32>) -> {T} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n0 = tensor.extract %n[] : tensor<i32>
  %ni = arith.index_cast %n0 : i32 to index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : {T}
  %zero = linalg.fill ins(%z : f32) outs(%e : {T}) -> {T}
  {body}
}}
"""


# A loop that carries a buffer holds that and the next one.
LOOP = _main(
    f"%r = scf.for %i = %c0 to %ni step %c1 iter_args(%a = %x) -> ({T}) {{\n"
    + _matmul("%b", "%a")
    + f"scf.yield %b : {T}\n}}\n"
    + _matmul("%q", "%r")
    + f"return %q : {T}"
)
# What the regions of a chain leave to one another dies on the way; no op says so.
CHAIN = _main(
    "".join(
        _matmul(f"%a{index}", f"%b{index - 1}" if index else "%x")
        + f"%b{index} = util.optimization_barrier %a{index} : {T}\n"
        for index in range(6)
    )
    + _matmul("%q", "%b5")
    + f"return %q : {T}"
)


@pytest.mark.parametrize(("text", "least", "most"), [(LOOP, 2, 2), (CHAIN, 1, 2)], ids=["loop", "chain"])
def test_slab_is_what_the_allocator_counts(text: str, least: int, most: int, tmp_path: Path) -> None:
    session = Session(compiler_flags("generic", ()))
    program = session.program(parse_module(session, text.encode(), file="<stdin>"))
    lowered = lower_to(program, "end", StreamOptions(), lambda _stage: None)
    assert lowered is not None
    assert lowered.slab is not None
    assert least * BYTES <= lowered.slab <= most * BYTES + 64  # the count of rounds is staged
    assert lowered.stream.final.arena == lowered.slab
    io = lowered.stream.io
    assert io.inputs is not None
    assert io.outputs is not None
    artefact, given, made = (tmp_path / name for name in ("m.vmfb", "in.npz", "out.npz"))
    artefact.write_bytes(program.vm_bytecode())
    np.savez(given, x=np.eye(16, dtype=np.float32), n=np.array(5, np.int32))
    done = subprocess.run(
        [sys.executable, str(_RUN_ONCE), str(artefact), str(given), str(made), "0"],
        capture_output=True,
        text=True,
        check=True,
    )
    counted = int(done.stdout.split('"peak": ')[1].split(",")[0])
    assert counted <= lowered.slab + io.inputs + io.outputs + 64
    with np.load(made) as results:
        np.testing.assert_array_equal(results["0_0"], np.eye(16, dtype=np.float32))


# What the branch hands on is an input, one of two results of the first region, or the same result twice.
FOLDED = """
func.func @main(%x: T, %y: T, %s: S, %t: S) -> (T, T, T) {
  %c0 = arith.constant 0 : index
  %low = tensor.extract_slice %y[8, 0] [8, 16] [1, 1] : T to S
  %both = tensor.insert_slice %low into %y[0, 0] [8, 16] [1, 1] : S into T
  %a = tensor.insert_slice %s into %y[5, 0] [8, 16] [1, 1] : S into T
  %b = tensor.insert_slice %t into %x[0, 0] [8, 16] [1, 1] : S into T
  %first = tensor.extract %b[%c0, %c0] : T
  %half = arith.constant 0.5 : f32
  %large = arith.cmpf ogt, %first, %half : f32
  %r = scf.if %large -> (T) {
    %mid = tensor.extract_slice %y[4, 0] [8, 16] [1, 1] : T to S
    %u = tensor.insert_slice %mid into %both[2, 0] [8, 16] [1, 1] : S into T
    scf.yield %u : T
  } else {
    scf.yield %b : T
  }
  return %a, %r, %r : T, T, T
}
""".replace("T", T).replace("S", "tensor<8x16xf32>")


def test_what_iree_folds_afterwards_leaves_no_claim() -> None:
    """Bytes are what is allocated in the end; of a program that changed, no peak or optimum is claimed."""
    session = Session(compiler_flags("generic", ()))
    program = session.program(parse_module(session, FOLDED.encode(), file="<stdin>"))
    lowered = lower_to(program, "stream", StreamOptions(), lambda _stage: None)
    assert lowered is not None
    final = lowered.stream.final
    assert final.arena == lowered.slab
    assert final.peak is None
    assert lowered.stream.bound is None
    assert any("after planning" in item for item in lowered.stream.warnings)


def test_each_op_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An await hands on every weight of a model; looking it up anew for each is quadratic."""
    count = 30
    names = [f"%w{index}" for index in range(count)]
    kind = "!stream.resource<constant>"
    arguments = ", ".join(f"{name}: {kind}" for name in names)
    awaited = ", ".join(names) + " : " + ", ".join(f"{kind}{{%c64}}" for _ in names)
    returned = ", ".join(f"%r#{index}" for index in range(count))
    text = f"""
        util.func public @f(%tp: !stream.timepoint, {arguments}) -> ({", ".join(kind for _ in names)}) {{
          %c64 = arith.constant 64 : index
          %r:{count} = stream.timepoint.await %tp => {awaited}
          util.return {returned} : {", ".join(kind for _ in names)}
        }}"""
    looked: list[str] = []
    real = host_flow._handed_on

    def counted(op: ir.Operation) -> dict[ir.Value, list[ir.Value]]:
        looked.append(op.name)
        return real(op)

    monkeypatch.setattr(host_flow, "_handed_on", counted)
    module = ir.Module.parse(text, make_context())
    (function,) = (op for _, op in functions(module.operation))
    list(HostFlow(function).moments())
    assert looked == ["stream.timepoint.await"]
