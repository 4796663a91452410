"""Real models and the cases of ../shared: loaded with unchanged results, or refused with a way out."""

from __future__ import annotations

from pathlib import Path

import corpus
import numpy as np
import onnx
import pytest
from small_models import prepared, random_inputs, run, same

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.clean_graph import opset_of
from serenity_mlir.pipelines.importing.load import load_model

REFUSED = {
    "custom_domain_ir": ("node 'n3' (com.microsoft::FusedConv)", "FusedConv"),
    "seq_ops": ("node 'n2' (SplitToSequence)", "is a sequence"),
}


@pytest.mark.parametrize("case", corpus.shared_cases())
def test_every_case_loads_or_is_refused(case: Path) -> None:
    path = case / "model.onnx"
    if not path.is_file():
        source = load_model(case / "model.mlir")
        assert (source.format, source.mlir) == ("mlir", (case / "model.mlir").read_bytes())
        return
    if case.name in REFUSED:
        where, message = REFUSED[case.name]
        with pytest.raises(SerenityError, match=message) as caught:
            load_model(path)
        assert (caught.value.file, caught.value.where) == (str(path), where)
        assert caught.value.hint
        return
    source = load_model(path)
    onnx.checker.check_model(prepared(source), full_check=True)
    with np.load(case / "inputs.npz") as inputs, np.load(case / "outputs.npz") as expected:
        assert {item.name for item in source.inputs} <= set(inputs)
        feeds = {item.name: inputs[item.name] for item in source.inputs}
        assert same(run(prepared(source), feeds), [expected[item.name] for item in source.outputs])
        assert [item.dtype for item in source.outputs] == [
            expected[item.name].dtype for item in source.outputs
        ]


@pytest.mark.parametrize("path", corpus.shared_models())
def test_every_model_keeps_its_results(path: Path) -> None:
    source = load_model(path)
    assert not source.notes
    inputs = random_inputs(source)
    # The runtime's own kernels differ between opsets: the same sum in another order.
    assert same(run(prepared(source), inputs), run(onnx.load(path), inputs), rel=1e-5)


@pytest.mark.parametrize("path", corpus.onnx_light_models(), ids=lambda path: path.stem)
def test_every_light_model_prepares(path: Path) -> None:
    source = load_model(path)
    proto = prepared(source)
    assert opset_of(proto) == 21
    assert len(source.inputs) == 1
    onnx.checker.check_model(proto, full_check=True)
    names = [node.name for node in proto.graph.node]
    assert all(names)
    assert len(set(names)) == len(names)
