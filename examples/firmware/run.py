"""Make a small network, compile it to a firmware library, build a program around it, run it in the emulator.

    python examples/firmware/run.py [--output DIR]

The network is random (two int8 convolutions, a pooling, a matrix product); what the emulated Cortex-M7
prints is compared with onnxruntime's scores on the same picture. Needs cmake, gcc-arm-none-eabi,
libnewlib-arm-none-eabi and qemu-system-arm (`make install` gets them where it may).
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
EMULATOR = ["qemu-system-arm", "-M", "mps2-an500", "-nographic", "-semihosting", "-kernel"]
SERENITY = [sys.executable, "-m", "serenity_mlir.pipelines.cli.main"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--output", type=Path, default=Path("build/firmware"), metavar="DIR")
    folder: Path = parser.parse_args().output.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    missing = [tool for tool in ("cmake", "arm-none-eabi-gcc", EMULATOR[0]) if shutil.which(tool) is None]
    if missing:
        print(f"not found: {', '.join(missing)}; see tools/install_debian_packages.sh", file=sys.stderr)
        return 1
    model = folder / "model.onnx"
    onnx.save(network(), model)
    picture = np.random.default_rng(1).integers(-128, 128, (1, 3, 32, 32), dtype=np.int8)
    (folder / "picture.h").write_text(header(picture), encoding="ascii")
    net, build = folder / "net", folder / "build"
    call(
        [
            *SERENITY,
            "compile",
            model,
            "--emit",
            "firmware",
            "--target",
            "cortex-m7",
            "--name",
            "net",
            "-o",
            net,
        ]
    )
    toolchain = HERE / "cortex-m7.cmake"
    settings = [f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", f"-DNET={net}", f"-DPICTURE={folder}"]
    call(["cmake", "-S", HERE, "-B", build, *settings])
    call(["cmake", "--build", build])
    said = call([*EMULATOR, build / "program.elf"])
    scores = [int(line.split()[1]) for line in said.splitlines() if line.startswith("score ")]
    expected = reference(model, picture)
    print(f"onnxruntime: {' '.join(map(str, expected))}")
    print(f"the board:   {' '.join(map(str, scores))}")
    return int(scores != expected)


def call(command: list[Any]) -> str:
    """Run a command, show it and what it prints."""
    words = [str(word) for word in command]
    print(f"$ {shlex.join(words)}", flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, flush=True)
    done.check_returncode()
    return done.stdout


def header(picture: npt.NDArray[np.int8]) -> str:
    """The picture as an array of C."""
    return f"static const signed char picture[] = {{{', '.join(map(str, picture.ravel().tolist()))}}};\n"


def reference(model: Path, picture: npt.NDArray[np.int8]) -> list[int]:
    """onnxruntime's scores."""
    import onnxruntime  # noqa: PLC0415  (heavy, and after its absence would have been noticed)

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"x": picture})
    return [int(score) for score in np.ravel(scores)]


def network() -> onnx.ModelProto:
    """Two quantised convolutions, a pooling and a matrix product, with random weights of fixed seed."""
    rng = np.random.default_rng(0)
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def scaled(op: str, source: str, made: str, scale: float) -> str:
        """Quantise or dequantise a tensor, zero point 0."""
        weights.append(numpy_helper.from_array(np.array(scale, np.float32), f"{made}_scale"))
        weights.append(numpy_helper.from_array(np.array(0, np.int8), f"{made}_zero"))
        nodes.append(helper.make_node(op, [source, f"{made}_scale", f"{made}_zero"], [made]))
        return made

    def weight(name: str, *shape: int) -> str:
        values = rng.integers(-127, 128, shape, dtype=np.int8)
        weights.append(numpy_helper.from_array(values, name))
        return scaled("DequantizeLinear", name, f"{name}_f", 0.0113)

    last = scaled("DequantizeLinear", "x", "x_f", 0.0173)
    for number, (given, made) in enumerate(((3, 8), (8, 16))):
        kernel = weight(f"w{number}", made, given, 3, 3)
        convolved = [f"c{number}"]
        nodes.append(helper.make_node("Conv", [last, kernel], convolved, pads=[1, 1, 1, 1], strides=[2, 2]))
        nodes.append(helper.make_node("Relu", convolved, [f"r{number}"]))
        quantised = scaled("QuantizeLinear", f"r{number}", f"q{number}", 0.0971)
        last = scaled("DequantizeLinear", quantised, f"h{number}", 0.0971)
    nodes.append(helper.make_node("MaxPool", [last], ["p"], kernel_shape=[2, 2], strides=[2, 2]))
    nodes.append(helper.make_node("Flatten", ["p"], ["f"]))
    nodes.append(helper.make_node("MatMul", ["f", weight("w2", 16 * 4 * 4, 4)], ["m"]))
    scaled("QuantizeLinear", "m", "y", 0.7193)
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.INT8, (1, 3, 32, 32))],
        [helper.make_tensor_value_info("y", TensorProto.INT8, (1, 4))],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


if __name__ == "__main__":
    sys.exit(main())
