"""A network through the Python interface: what it needs, the compiled module, a run of it.

    python examples/compile_from_python.py [--output DIR]

DIR gets the network (model.onnx), the compiled module (model.vmfb) and the figures (report.json). The
network is an Inception-like block: each branch widens its input and narrows it again, and a concatenation
reads all of them. Its file lists it layer by layer, so that all wide tensors are live at once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import rich
from iree import runtime
from onnx import TensorProto, helper, numpy_helper

import serenity_mlir

BRANCHES, WIDE, NARROW, SIZE = 4, 32, 4, 16
SEED = 2020


def branches() -> onnx.ModelProto:
    """All convolutions that widen, all that narrow, the join: legal, and as bad as an order can be."""
    generator = np.random.default_rng(SEED)
    weights, widen, narrow = [], [], []
    for branch in range(BRANCHES):
        for name, shape in ((f"in{branch}", (WIDE, 3, 3, 3)), (f"out{branch}", (NARROW, WIDE, 3, 3))):
            values = generator.standard_normal(shape).astype(np.float32) / 8
            weights.append(numpy_helper.from_array(values, name))
        wide, thin = f"wide{branch}", f"narrow{branch}"
        widen.append(helper.make_node("Conv", ["x", f"in{branch}"], [wide], name=wide, pads=[1] * 4))
        narrow.append(helper.make_node("Conv", [wide, f"out{branch}"], [thin], name=thin, pads=[1] * 4))
    join = helper.make_node("Concat", [node.output[0] for node in narrow], ["y"], name="join", axis=1)
    graph = helper.make_graph(
        [*widen, *narrow, join],
        "branches",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, BRANCHES * NARROW, SIZE, SIZE])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run(module: bytes, x: np.ndarray) -> np.ndarray:
    """What a compiled module makes of an input."""
    config = runtime.Config("local-task")
    loaded = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, module), config)
    return np.asarray(loaded.branches(x).to_host())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("build/from_python"), metavar="DIR")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(branches(), folder / "model.onnx")

    compiled = serenity_mlir.compile(folder / "model.onnx", verify=True)
    compiled.save(folder / "model.vmfb")
    (folder / "report.json").write_bytes(compiled.to_json())
    rich.print(compiled)

    x = np.random.default_rng(0).standard_normal((1, 3, SIZE, SIZE)).astype(np.float32)
    y = run(compiled.data, x)
    memory = compiled.report.memory
    print(f"{memory.file_order.arena:,} bytes in file order, {memory.slab:,} in the module")
    print(f"a run gives {y.shape} of mean {y.mean():.4f}")


if __name__ == "__main__":
    main()
