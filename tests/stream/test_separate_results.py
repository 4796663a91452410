"""What IREE would write over an operand that is still read is written apart."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import ALLOCATE, at_execution, finish, run

from serenity_mlir.dialect_passes.stream.separate_results import SeparateResultsPass

ROWS, WIDTH = 256, 512

_PROGRAM = """
#row = affine_map<(i, j) -> (j)>
#weight = affine_map<(i, j) -> (i, j)>
#each = affine_map<(i, j) -> (i)>
func.func @main(%a: tensor<512xf32>, %w: tensor<256x512xf32>) -> {results} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %x = linalg.elementwise <exp> ins(%a : tensor<512xf32>) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %h = tensor.empty() : tensor<256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%h : tensor<256xf32>) -> tensor<256xf32>
  %r:2 = linalg.generic {{
    indexing_maps = [#row, #weight, #each, #each], iterator_types = ["parallel", "reduction"]
  }} ins(%x, %w : tensor<512xf32>, tensor<256x512xf32>) outs(%f, %f : tensor<256xf32>, tensor<256xf32>) {{
  ^bb0(%p: f32, %q: f32, %s: f32, %t: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %0, %s : f32
    %2 = arith.maximumf %0, %t : f32
    linalg.yield %1, %2 : f32, f32
  }} -> (tensor<256xf32>, tensor<256xf32>)
  %y = tensor.insert_slice %r#0 into %x[0] [256] [1] : tensor<256xf32> into tensor<512xf32>
{rest}
}}
"""

_BOTH_PLACED = """\
  %z = tensor.insert_slice %r#1 into %y[256] [256] [1] : tensor<256xf32> into tensor<512xf32>
  return %z : tensor<512xf32>"""
_FIRST_PLACED = "  return %y, %r#1 : tensor<512xf32>, tensor<256xf32>"


def expected(a: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    products = np.exp(a)[None] * w
    return np.exp(a), products.sum(1), np.maximum(products.max(1), 0)


@pytest.mark.parametrize("both", [True, False])
def test_two_results_over_what_their_dispatch_reads(both: bool) -> None:
    results = "tensor<512xf32>" if both else "(tensor<512xf32>, tensor<256xf32>)"
    text = _PROGRAM.format(results=results, rest=_BOTH_PLACED if both else _FIRST_PLACED)
    program = at_execution(text)
    assert SeparateResultsPass().apply(program.module) == 1
    program.verify()
    assert SeparateResultsPass().apply(program.module) == 0
    program.run(ALLOCATE)
    data = np.random.default_rng(1)
    a = data.standard_normal(WIDTH).astype(np.float32)
    w = data.standard_normal((ROWS, WIDTH)).astype(np.float32)
    x, sums, most = expected(a, w)
    found = run(finish(program), [a, w])
    wanted = [np.concatenate([sums, most])] if both else [np.concatenate([sums, x[ROWS:]]), most]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.abs(other).max())
