"""What guarded reads are taken to cost: by the kind of reader."""

from __future__ import annotations

import pytest

from serenity_mlir.dialect_passes.linalg.macs import guarded_work, iterations
from serenity_mlir.dialect_passes.linalg.structured import structured
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

DEPTHWISE = """
func.func @f(%x: tensor<6x10x10xf32>, %w: tensor<6x3x3xf32>, %o: tensor<6x8x8xf32>) -> tensor<6x8x8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(c, h, w, i, j) -> (c, h + i, w + j)>,
      affine_map<(c, h, w, i, j) -> (c, i, j)>, affine_map<(c, h, w, i, j) -> (c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<6x10x10xf32>, tensor<6x3x3xf32>) outs(%o : tensor<6x8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %m = arith.mulf %a, %b : f32
      %t = arith.addf %s, %m : f32
      linalg.yield %t : f32
  } -> tensor<6x8x8xf32>
  return %r : tensor<6x8x8xf32>
}"""
OVER_CHANNELS = DEPTHWISE.replace("6x3x3xf32", "4x6x3x3xf32").replace("6x8x8xf32", "4x8x8xf32")
OVER_CHANNELS = OVER_CHANNELS.replace("(c, h, w, i, j)", "(o, c, h, w, i, j)").replace(
    "> (c, i", "> (o, c, i"
)
OVER_CHANNELS = OVER_CHANNELS.replace("> (c, h, w)>", "> (o, h, w)>").replace(
    '["parallel", "parallel", "parallel", "reduction"',
    '["parallel", "reduction", "parallel", "parallel", "reduction"',
)
POOL = """
func.func @f(%x: tensor<1x6x10x10xf32>, %w: tensor<3x3xf32>, %o: tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32> {
  %r = linalg.pooling_nchw_max {strides = dense<2> : vector<2xi64>, dilations = dense<1> : vector<2xi64>}
      ins(%x, %w : tensor<1x6x10x10xf32>, tensor<3x3xf32>) outs(%o : tensor<1x6x4x4xf32>)
      -> tensor<1x6x4x4xf32>
  return %r : tensor<1x6x4x4xf32>
}"""


@pytest.mark.parametrize(
    ("text", "loops", "price"),
    [
        (DEPTHWISE, 6 * 64 * 9, 6 * 64 * 9 * 4.0),
        (OVER_CHANNELS, 4 * 6 * 64 * 9, 4 * 6 * 64 * 9 * 2.0),
        # Each tile of four columns reads three rows of 2 * 3 + 3 elements.
        (POOL, 6 * 16 * 9, 6 * 4 * 3 * 9 * 4.0),
    ],
    ids=["depthwise", "over channels", "pool"],
)
def test_price(text: str, loops: int, price: float) -> None:
    with ir.Context() as context:
        context.load_all_available_dialects()
        module = ir.Module.parse(text)
        (op,) = [op for op in nested_ops(module.operation) if op.name.startswith("linalg.") and op.results]
        reader = structured(op)
        assert reader is not None
        assert iterations(op) == loops
        assert guarded_work(reader, op.operands[0]) == price
