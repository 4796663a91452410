"""The named ops of other layouts, split or not, compiled by IREE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from rewriting import artefact, from_text, run, split_all


@dataclass(frozen=True)
class Op:
    """A named op on a concatenation: shapes of its parts, of its kernel, of its result."""

    name: str
    dim: int
    parts: tuple[tuple[int, ...], ...]
    kernel: tuple[int, ...]
    result: tuple[int, ...]
    types: tuple[str, str] = ("f32", "f32")
    zero_points: bool = False

    def text(self) -> str:
        """A function of the parts and the kernel; the result starts from a number."""
        given, out = self.types
        parts = [_tensor(shape, given) for shape in self.parts]
        whole = list(self.parts[0])
        whole[self.dim] = sum(shape[self.dim] for shape in self.parts)
        kernel, result, joined = _tensor(self.kernel, given), _tensor(self.result, out), _tensor(whole, given)
        names = [f"%x{index}" for index in range(len(parts))]
        signature = ", ".join(
            f"{name}: {kind}" for name, kind in [*zip(names, parts, strict=True), ("%k", kernel)]
        )
        more, kinds = (", %zx, %zk", ", i32, i32") if self.zero_points else ("", "")
        return f"""func.func @main({signature}) -> {result} {{
  %start = arith.constant {"7" if out == "i32" else "7.0"} : {out}
  %e = tensor.empty() : {result}
  %i = linalg.fill ins(%start : {out}) outs(%e : {result}) -> {result}
  %zx = arith.constant -5 : i32
  %zk = arith.constant 3 : i32
  %c = tensor.concat dim({self.dim}) {", ".join(names)} : ({", ".join(parts)}) -> {joined}
  %y = {self.name} ins(%c, %k{more} : {joined}, {kernel}{kinds}) outs(%i : {result}) -> {result}
  return %y : {result}
}}"""


def _tensor(shape: tuple[int, ...] | list[int], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


CUBE = (4, 4, 4)
F16, INT = ("f16", "f32"), ("i8", "i32")
OPS = (
    Op("linalg.conv_1d_nwc_wcf", 2, ((1, 9, 2), (1, 9, 3)), (3, 5, 4), (1, 7, 4)),
    Op("linalg.conv_1d_ncw_fcw", 1, ((2, 2, 9), (2, 3, 9)), (4, 5, 3), (2, 4, 7)),
    Op("linalg.conv_2d_nhwc_hwcf", 3, ((2, 6, 6, 2), (2, 6, 6, 3)), (3, 3, 5, 4), (2, 4, 4, 4)),
    Op("linalg.conv_2d_nhwc_fhwc", 3, ((1, 6, 6, 2), (1, 6, 6, 3)), (4, 3, 3, 5), (1, 4, 4, 4), F16),
    Op("linalg.conv_2d_nhwc_hwcf_q", 3, ((1, 6, 6, 2), (1, 6, 6, 3)), (3, 3, 5, 4), (1, 4, 4, 4), INT, True),
    Op("linalg.conv_2d_nchw_fchw_q", 1, ((1, 2, 6, 6), (1, 3, 6, 6)), (4, 5, 3, 3), (1, 4, 4, 4), INT, True),
    Op("linalg.conv_3d_ndhwc_dhwcf", 4, ((1, 4, 4, 4, 2), (1, 4, 4, 4, 1)), (2, 2, 2, 3, 2), (1, 3, 3, 3, 2)),
    Op("linalg.depthwise_conv_1d_nwc_wcm", 2, ((1, 8, 2), (1, 8, 1)), (3, 3, 2), (1, 6, 3, 2)),
    Op("linalg.depthwise_conv_2d_nhwc_hwc", 3, ((1, 6, 6, 2), (1, 6, 6, 3)), (3, 3, 5), (1, 4, 4, 5)),
    Op(
        "linalg.depthwise_conv_2d_nhwc_hwcm_q",
        3,
        ((1, 6, 6, 2), (1, 6, 6, 1)),
        (3, 3, 3, 2),
        (1, 4, 4, 3, 2),
        INT,
        True,
    ),
    Op(
        "linalg.depthwise_conv_3d_ncdhw_cdhw",
        1,
        ((1, 2, 4, 4, 4), (1, 1, 4, 4, 4)),
        (3, 2, 2, 2),
        (1, 3, 3, 3, 3),
    ),
    Op("linalg.conv_2d_nhwgc_gfhwc", 3, ((1, 5, 5, 2, 3), (1, 5, 5, 1, 3)), (3, 2, 3, 3, 3), (1, 3, 3, 3, 2)),
    Op("linalg.batch_matmul", 2, ((3, 4, 5), (3, 4, 2)), (3, 7, 4), (3, 4, 4)),
    Op("linalg.matmul", 1, ((4, 5), (4, 2), (4, 1)), (8, 3), (4, 3), INT),
)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_split_is_the_same(op: Op) -> None:
    program = from_text(op.text())
    whole = program.fork()
    assert len(split_all(program, exact=op.types == INT)) == 1
    rng = np.random.default_rng(0)
    kinds = {"f16": np.float16, "f32": np.float32, "i8": np.int8}
    dtype = kinds[op.types[0]]
    inputs = [(rng.standard_normal(shape) * 32).astype(dtype) for shape in (*op.parts, op.kernel)]
    (found,) = run(artefact(program), inputs)
    (expected,) = run(artefact(whole), inputs)
    if op.types == INT or "depthwise" in op.name:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * float(np.abs(expected).max()))
