"""What IREE would overwrite though it is read later is copied first; nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import ALLOCATE, at_execution, finish, run

from serenity_mlir.dialect_passes.stream.preserve_values import PreserveValuesPass

_PROGRAM = """
func.func @main(%a: tensor<4x4xf32>, %s: tensor<2x4xf32>, %k: tensor<i32>) -> {results} {{
  %e = tensor.empty() : tensor<4x4xf32>
  %x = tensor.extract %k[] : tensor<i32>
  %zero = arith.constant 0 : i32
  %c = arith.cmpi ne, %x, %zero : i32
  %v = linalg.elementwise <add> ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>)
    outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
{body}
}}
"""
_IF = """\
  %t = scf.if %c -> tensor<4x4xf32> {{
    %m = linalg.elementwise <add> ins(%v, %a : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %m : tensor<4x4xf32>
  }} else {{
    scf.yield {other} : tensor<4x4xf32>
  }}
"""


def _insert(into: str, name: str = "%r") -> str:
    place = f"%s into {into}[1, 0] [2, 4] [1, 1]"
    return f"  {name} = tensor.insert_slice {place} : tensor<2x4xf32> into tensor<4x4xf32>\n"


def _returned(*names: str) -> str:
    return f"  return {', '.join(names)} : {', '.join(['tensor<4x4xf32>'] * len(names))}"


_YIELDS_V, _YIELDS_A = _IF.format(other="%v"), _IF.format(other="%a")
# The program, how many copies it takes, and what comes out: see `_values`.
CASES = {
    "a branch yields what is returned": (_YIELDS_V + _insert("%t") + _returned("%r", "%v"), 1, "r v"),
    "a branch yields an argument": (_YIELDS_A + _insert("%t") + _returned("%r", "%a"), 1, "R a"),
    "nobody reads it": (_YIELDS_V + _insert("%t") + _returned("%r"), 0, "r"),
    "an argument that is returned": (_insert("%a", "%w") + _returned("%w", "%a"), 1, "w a"),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_read_as_they_were(case: str) -> None:
    body, copies, wanted = CASES[case]
    count = len(wanted.split())
    results = "tensor<4x4xf32>" if count == 1 else f"({', '.join(['tensor<4x4xf32>'] * count)})"
    program = at_execution(_PROGRAM.format(results=results, body=body))
    assert PreserveValuesPass().apply(program.module) == copies
    program.verify()
    assert PreserveValuesPass().apply(program.module) == 0
    program.run(ALLOCATE)
    artefact = finish(program)
    a, s = np.arange(16, dtype=np.float32).reshape(4, 4), np.full((2, 4), -1, np.float32)
    for flag in (0, 1):
        values = _values(a, s, flag)
        found = run(artefact, [a, s, np.asarray(flag, np.int32)])
        for one, name in zip(found, wanted.split(), strict=True):
            np.testing.assert_array_equal(one, values[name], err_msg=f"{name}, {flag}")


def _values(a: np.ndarray, s: np.ndarray, flag: int) -> dict[str, np.ndarray]:
    def updated(value: np.ndarray) -> np.ndarray:
        return np.concatenate([value[:1], s, value[3:]])

    v = a + a
    t = v + a if flag else v
    return {
        "a": a, "v": v, "t": t, "r": updated(t), "w": updated(a),
        "R": updated(v + a if flag else a),
    }  # fmt: skip
