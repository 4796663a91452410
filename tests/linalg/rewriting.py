"""Programs at the end of phase `input`, rewritten or not, compiled and run in tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from iree import runtime

from serenity_mlir.dialect_passes.linalg.split_concat_conv import SplitConcatConvPass
from serenity_mlir.dialect_passes.linalg.split_concat_depthwise_conv import SplitConcatDepthwiseConvPass
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.importing.unsigned_results import declare_unsigned_results
from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.lower import lower_to
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.parse_mlir import parse_module
from serenity_mlir.pipelines.targets import compiler_flags

Arrays = list[npt.NDArray[Any]]


def from_text(text: str) -> Program:
    """A module on its way, at the end of phase `input`."""
    session = Session(compiler_flags("generic", ()))
    program = session.program(parse_module(session, text.encode(), file="<stdin>"))
    program.to_phase("input")
    return program


def from_file(path: Path) -> Program:
    """A model's program at the end of phase `input`."""
    if path.suffix == ".mlir":
        return from_text(path.read_text())
    source = load_model(path)
    assert source.proto is not None
    session = Session(compiler_flags("generic", ()))
    program = session.program(import_onnx(source, session.context), file=str(path))
    program.to_phase("input")
    if any(item.unsigned for item in source.outputs):
        declare_unsigned_results(program.module, source.proto.graph.name, source.outputs)
    return program


def split_all(program: Program, *, exact: bool = False) -> list[str]:
    """Split whatever can be split; returns the keys of what was."""
    apart = SplitConcatDepthwiseConvPass().apply(program.module)
    summed = SplitConcatConvPass(exact=exact).apply(program.module)
    assert program.module.verify()
    return [*apart, *summed]


def artefact(program: Program) -> bytes:
    """The `.vmfb`, in IREE's own order."""
    program.to_phase("end")
    return program.vm_bytecode()


def slab(program: Program) -> int:
    """Bytes of the slab once the program is scheduled and packed as `serenity compile` does it."""
    found = lower_to(program, "stream", StreamOptions(time_limit=10), lambda _stage: None)
    assert found is not None
    assert found.slab is not None
    return found.slab


def run(compiled: bytes, inputs: Sequence[npt.NDArray[Any]]) -> Arrays:
    """Results of the entry function on one thread."""
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, compiled), config)
    names = [name for name in module.vm_module.function_names if "$" not in name and name[:2] != "__"]
    results = module[names[0]](*inputs)
    kept = results if isinstance(results, tuple | list) else (results,)
    return [np.asarray(item.to_host()) for item in kept]
