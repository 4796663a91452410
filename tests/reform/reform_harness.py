"""Run models, masked and pruned, by somebody else's implementation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from iree import runtime
from iree.compiler import tools

from serenity_mlir.dialect_passes.mlir import make_context
from serenity_mlir.pipelines.importing.source import SourceModel, TensorIO
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.pipelines.verify import entry_function, random_inputs
from serenity_mlir.reform.gates import Gates
from serenity_mlir.reform.groups import channel_groups, gates_of


def inputs_of(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Random inputs of fixed seed; dimensions without a size get one."""
    network = network_of(model)
    declared = [network.tensors[name] for name in network.inputs]
    return random_inputs([TensorIO(item.name, item.shape, item.dtype) for item in declared])


def random_masks(model: onnx.ModelProto, share: float, seed: int = 0) -> Gates:
    """Gates that drop a share of the channels of every group that can lose some."""
    network, rng = network_of(model), np.random.default_rng(seed)
    groups = channel_groups(network)
    masks = {group.id: rng.random(group.size) >= share for group in groups if group.prunable}
    return gates_of(network, masks, groups)


def run(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of onnxruntime, graph optimisations off."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [np.asarray(item) for item in session.run(None, inputs)]


def run_iree(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of what stock iree-compile makes of the model."""
    source = SourceModel(Path("model.onnx"), "", "onnx", proto=model)
    return run_module(str(import_onnx(source, make_context())), list(inputs.values()))


def run_module(text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs of what stock iree-compile makes of a torch-onnx module."""
    flags = ["--iree-llvmcpu-target-cpu=generic"]
    artefact = tools.compile_str(text, target_backends=["llvm-cpu"], extra_args=flags)
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, artefact), config)
    results = module[entry_function(module)](*inputs)
    kept = results if isinstance(results, tuple | list) else [results]
    return [item.to_host().copy() for item in kept]
