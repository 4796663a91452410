"""The bindings look for the Python module of a dialect once, not for each op."""

from __future__ import annotations

import sys
from collections import Counter
from importlib.abc import MetaPathFinder
from typing import Any

import onnx
import pytest
from hypothesis import given, settings
from quantised_residuals import networks

from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.iree_api import Session
from serenity_mlir.pipelines.phases import PHASES
from serenity_mlir.pipelines.targets import compiler_flags


class Asked(MetaPathFinder):
    """Notes what is looked for, and finds nothing."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        self.names[name] += 1


@settings(max_examples=1)
@given(model=networks())
def test_no_dialect_is_looked_for_again(
    model: onnx.ModelProto, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("net") / "net.onnx"
    onnx.save(model, path)
    session = Session(compiler_flags("generic", ()))
    program = session.program(import_onnx(load_model(path), session.context))
    asked = Asked()
    sys.meta_path.insert(0, asked)
    try:
        ops = Counter(op.name.partition(".")[0] for op in nested_ops(program.module))
        for phase in PHASES[PHASES.index(program.phase) + 1 : PHASES.index("stream")]:
            program.to_phase(phase)
            ops.update(op.name.partition(".")[0] for op in nested_ops(program.module))
    finally:
        sys.meta_path.remove(asked)
    assert ops["torch"] > 1
    assert ops["iree_linalg_ext"] > 1
    assert {name: count for name, count in asked.names.items() if count > 1} == {}
