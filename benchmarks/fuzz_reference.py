"""Whether a mutated model that compiled computes the right thing, where something can tell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from iree import runtime

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import TensorIO
from serenity_mlir.pipelines.iree_api import Session
from serenity_mlir.pipelines.parse_mlir import parse_module
from serenity_mlir.pipelines.reference import run_reference
from serenity_mlir.pipelines.targets import DEFAULT_TARGET, compiler_flags
from serenity_mlir.pipelines.verify import compare, entry_function, random_inputs, run_compiled

EQUAL, WRONG, REFUSED = 0, 3, 4
"""Exit statuses: right, wrong, and that the reference does not take the model or its inputs."""

_RANDOM = (
    "RandomNormal",
    "RandomUniform",
    "RandomNormalLike",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
)
_DTYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "i1": "bool"}


def check_onnx(model: Path, artefact: bytes) -> int:
    """Compare with onnxruntime, its optimisations off."""
    try:
        source = load_model(model)
        inputs = random_inputs(source.inputs)
        if source.proto is None or any(node.op_type in _RANDOM for node in source.proto.graph.node):
            raise ValueError("random numbers cannot be compared")
        expected = run_reference(source, inputs)
    except Exception as error:  # whatever a reference throws: it does not take this
        return _refused(error)
    sys.stdout.write("reference ran\n")
    sys.stdout.flush()
    found = run_compiled(artefact, source.outputs, list(inputs.values()))
    verification = compare(found, expected, "onnxruntime")
    sys.stdout.write(f"{verification}\n")
    return EQUAL if verification.passed else WRONG


def check_mlir(model: Path, artefact: bytes) -> int:
    """Compare, to the bit, with the same module compiled by stock IREE."""
    try:
        session = Session(compiler_flags(DEFAULT_TARGET, ()))
        program = session.program(parse_module(session, model.read_bytes(), file=str(model)))
        inputs = list(random_inputs(_arguments(program.module)).values())
        program.to_phase("end")
        expected = _results(program.vm_bytecode(), inputs)
    except Exception as error:
        return _refused(error)
    sys.stdout.write("reference ran\n")
    sys.stdout.flush()
    found = _results(artefact, inputs)
    same = len(found) == len(expected) and all(map(_same, found, expected))
    return EQUAL if same else WRONG


def _refused(error: Exception) -> int:
    sys.stdout.write(f"{type(error).__name__}: {error}\n")
    return REFUSED


def _arguments(module: ir.Operation) -> list[TensorIO]:
    """The entry function's arguments, named by their numbers."""
    functions = [op.operation for op in module.regions[0].blocks[0] if op.operation.name == "func.func"]
    public = next(op for op in functions if "sym_visibility" not in op.attributes)
    found = []
    for index, kind in enumerate(
        ir.FunctionType(ir.TypeAttr(public.attributes["function_type"]).value).inputs
    ):
        ranked = ir.RankedTensorType(kind)
        shape = tuple(None if size < 0 else size for size in ranked.shape)
        name = str(ranked.element_type)
        found.append(TensorIO(str(index), shape, _DTYPES.get(name, name.replace("i", "int"))))
    return found


def _results(artefact: bytes, arguments: list[Any]) -> list[Any]:
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, artefact), config)
    results = module[entry_function(module)](*arguments)
    kept = results if isinstance(results, tuple | list) else [results]
    return [item.to_host().copy() if hasattr(item, "to_host") else np.asarray(item) for item in kept]


def _same(one: Any, other: Any) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
