"""Split wherever that can be done, random graphs compute what onnxruntime computes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from hypothesis import HealthCheck, event, given, settings
from rewriting import Arrays, artefact, from_file, run, split_all
from split_graphs import Case, float_graphs, integer_graphs


def computed(case: Case, *, exact: bool = False) -> tuple[Arrays, Arrays, list[str]]:
    """What the split program computes, what onnxruntime computes, and what was split."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(case.model, path)
        program = from_file(path)
    keys = split_all(program, exact=exact)
    session = onnxruntime.InferenceSession(case.model.SerializeToString(), providers=["CPUExecutionProvider"])
    return run(artefact(program), list(case.inputs.values())), session.run(None, case.inputs), keys


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(float_graphs())
def test_floats(case: Case) -> None:
    found, expected, keys = computed(case)
    event(f"{len(keys)} sites")
    assert keys
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * float(np.abs(other).max(initial=1e-3)))


@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(integer_graphs())
def test_integers(case: Case) -> None:
    found, expected, keys = computed(case, exact=True)
    assert keys
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
