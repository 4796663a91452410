"""Bytes of a tensor type."""

from __future__ import annotations

import pytest

from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

CONTEXT = make_context()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tensor<f32>", 4),
        ("tensor<2x3xf32>", 24),
        ("tensor<0x3xf32>", 0),
        ("tensor<3xi1>", 3),
        ("tensor<3xi4>", 2),
        ("tensor<3xi8>", 3),
        ("tensor<3xui8>", 3),
        ("tensor<3xsi64>", 24),
        ("tensor<3xindex>", 24),
        ("tensor<3xbf16>", 6),
        ("tensor<3xf64>", 24),
        ("tensor<3xf8E4M3FN>", 3),
        ("tensor<3xcomplex<f32>>", 24),
        ("tensor<3x!quant.uniform<i8:f32, 0.5>>", 3),
        ("tensor<3x!quant.uniform<u8:f32, 0.5:128>>", 3),
        ("tensor<?xf32>", None),
        ("tensor<*xf32>", None),
        ("tensor<4xf32, #iree_encoding.testing<>>", None),
        ("!torch.vtensor<[],f32>", 4),
        ("!torch.vtensor<[2,3],si64>", 48),
        ("!torch.vtensor<[2,3],ui8>", 6),
        ("!torch.vtensor<[2,3],i1>", 6),
        ("!torch.vtensor<[2,3],bf16>", 12),
        ("!torch.vtensor<[2,3],complex<f64>>", 96),
        ("!torch.vtensor<[2,3],!torch.qint8>", 6),
        ("!torch.vtensor<[2,3],!torch.qint32>", 24),
        ("!torch.tensor<[2,3],f32>", 24),
        ("!torch.vtensor<[2,?],f32>", None),
        ("!torch.vtensor<[2,3],unk>", None),
        ("!torch.vtensor<*,f32>", None),
        ("!torch.vtensor", None),
        ("!torch.list<vtensor>", None),
        ("!torch.optional<vtensor<[2],f32>>", None),
        ("tuple<tensor<2xf32>>", None),
        ("!torch.int", 0),
        ("!torch.list<int>", 0),
        ("!torch.none", 0),
        ("!stablehlo.token", 0),
        ("!tosa.shape<2>", 0),
        ("!hal.buffer_view", 0),
        ("index", 0),
        ("f32", 0),
    ],
)
def test_bytes(text: str, expected: int | None) -> None:
    assert tensor_bytes(ir.Type.parse(text, CONTEXT)) == expected
