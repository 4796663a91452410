"""The cases with concatenations, rewritten wherever that can be done, against their references."""

from __future__ import annotations

from pathlib import Path

import corpus
import numpy as np
import pytest
from rewriting import artefact, from_file, run, split_all

# How many sites each has: what a matcher must find, and what it must not.
SITES = {
    "cat_axis_h_conv": 0,
    "cat_bn_relu_conv": 2,
    "cat_conv_asym": 1,
    "cat_depthwise_pw": 2,
    "cat_grouped_conv": 0,
    "cat_order_20819": 0,
    "cat_repeat_conv": 1,
    "cat_two_consumers": 2,
    "dyn_batch_cat": 1,
    "fan24": 1,
    "if_branch": 1,
    "local_function": 1,
    "mlir_concat_conv": 1,
    "mlir_concat_conv_bias_init": 1,
    "mlir_repeat_dps_init": 2,
}
CASES = [item for item in corpus.shared_cases() if item.id == "no-shared" or item.id in SITES]


@pytest.mark.parametrize("case", CASES)
def test_case(case: Path) -> None:
    program = from_file(next(case.glob("model.*")))
    assert len(split_all(program)) == SITES[case.name]
    with np.load(case / "inputs.npz") as loaded:
        inputs = [loaded[name] for name in loaded.files]
    with np.load(case / "outputs.npz") as loaded:
        expected = [loaded[name] for name in loaded.files]
    found = run(artefact(program), inputs)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * float(np.abs(other).max(initial=1.0)))
