"""Stepping small programs through phase `stream` in tests."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from iree import runtime

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.execution_graph import ExecutionGraph, execution_graph
from serenity_mlir.dialect_passes.stream.regions import regions
from serenity_mlir.dialect_passes.stream.serialize import SerializePass, StripSerializePass
from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.parse_mlir import parse_module
from serenity_mlir.pipelines.targets import compiler_flags

ALLOCATE = "iree-stream-schedule-allocation"


def at_execution(text: str) -> Program:
    """`text` after the async pipeline, serial: where `serenity-schedule-execution` runs."""
    session = Session(compiler_flags("generic", ()))
    program = session.program(parse_module(session, text.encode(), file="<stdin>"))
    program.to_phase("flow")
    program.run("iree-stream-tensor-transformation-pipeline")
    SerializePass().apply(program.module)
    program.run("iree-stream-async-transformation-pipeline")
    StripSerializePass().apply(program.module)
    return program


def model_graph(program: Program) -> tuple[ir.Operation, ExecutionGraph]:
    """The one region of the model and its memory graph."""
    (region,) = [item for item in regions(program.module) if item.role == "model"]
    return region.op, execution_graph(region.op, alignment=64)


def finish(program: Program) -> bytes:
    """The `.vmfb` of a program that is past `ALLOCATE`."""
    program.run("iree-stream-cmd-transformation-pipeline")
    program.run("iree-stream-optimization-pipeline")
    program.phase = "stream"
    program.to_phase("end")
    return program.vm_bytecode()


def ssa_preds(found: ExecutionGraph) -> list[list[int]]:
    """Predecessors by SSA alone: what a scheduler would follow that knows no aliases."""
    position = {op: index for index, op in enumerate(found.ops)}
    out = []
    for op in found.ops:
        owners = [value.owner for value in op.operands if not isinstance(value.owner, ir.Block)]
        out.append(sorted({position[owner.operation] for owner in owners if owner.operation in position}))
    return out


def order_with(
    preds: Sequence[Sequence[int]], first: int, second: int, rng: random.Random
) -> list[int] | None:
    """An order by `preds` in which `first` runs before `second`; None where `preds` forbid it."""
    ancestors = {first}
    for index in range(first, -1, -1):
        if index in ancestors:
            ancestors.update(preds[index])
    if second in ancestors:
        return None
    constrained = [[*item, first] if index == second else list(item) for index, item in enumerate(preds)]
    return _topological(constrained, rng)


def _topological(preds: Sequence[Sequence[int]], rng: random.Random) -> list[int]:
    done: set[int] = set()
    order: list[int] = []
    while len(order) < len(preds):
        ready = [op for op in range(len(preds)) if op not in done and done.issuperset(preds[op])]
        order.append(rng.choice(ready))
        done.add(order[-1])
    return order


def random_order(preds: Sequence[Sequence[int]], rng: random.Random) -> list[int]:
    """Any order that respects `preds`."""
    return _topological(preds, rng)


def run(artefact: bytes, inputs: Sequence[npt.NDArray[np.float32]]) -> list[npt.NDArray[np.float32]]:
    """Results of `@main` on one thread."""
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, artefact), config)
    results = module["main"](*inputs)
    return [np.asarray(item) for item in (results if isinstance(results, tuple) else (results,))]
