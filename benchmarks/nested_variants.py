"""Four nested variants in one artefact beside the largest alone: weights, code, RAM, copies of slices.

    .venv/bin/python benchmarks/nested_variants.py [NAMES …] [-o benchmarks/results/nested_variants.md]

The variants keep all channels, and three quarters, half and a quarter of each group, chosen at random. Every
entry of the artefact is compared with onnxruntime on its variant alone before anything is counted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from circumstances import models, write
from iree import runtime

from serenity_mlir import console
from serenity_mlir.pipelines.bench.result_file import table
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.pipelines.importing.source import TensorIO
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.reform.family import CompiledFamily, compile_family, nest
from serenity_mlir.pipelines.reform.onnx_network import load, network_of
from serenity_mlir.pipelines.verify import compare, random_inputs
from serenity_mlir.reform.groups import channel_groups

SHARES = (0.0, 0.25, 0.5, 0.75)
HEADS = (
    "model", "weights", "of largest alone", "code", "of largest alone", "RAM", "of largest alone",
    "slice copies", "largest error",
)  # fmt: skip


def made(path: Path) -> CompiledFamily:
    """The artefact, without rewrites: what is compared is how constants are stored."""
    model, network = load(path)
    rng = np.random.default_rng(0)
    scores = {group.id: rng.random(group.size) for group in channel_groups(network) if group.prunable}
    variants = [
        {number: score >= np.quantile(score, share) for number, score in scores.items()} for share in SHARES
    ]
    options = CompileOptions(rewrite=RewriteOptions(ops=False, regions=False))
    return compile_family(nest(model, variants), options)


def error(family: CompiledFamily) -> float:
    """The largest difference of any entry's results from onnxruntime's on the variant alone, relative."""
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(
        runtime.VmModule.copy_buffer(config.vm_instance, family.artefact.data), config
    )
    worst = 0.0
    for member in family.family.members:
        inputs = random_inputs(_inputs(member.model))
        session = _session(member.model)
        expected = session.run(None, inputs)
        results = module[member.name](*inputs.values())
        found = [item.to_host() for item in (results if isinstance(results, tuple) else (results,))]
        views = [one.view(other.dtype) for one, other in zip(found, expected, strict=True)]
        outcome = compare(views, expected, "onnxruntime")
        if not outcome.passed:
            raise SystemExit(f"{member.name} is wrong by {outcome.max_abs}")
        worst = max(worst, outcome.max_rel)
    return worst


def _session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    data = model.SerializeToString()
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:  # its optimiser makes a graph that it refuses
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _inputs(model: onnx.ModelProto) -> list[TensorIO]:
    network = network_of(model)
    declared = [network.tensors[name] for name in network.inputs]
    return [TensorIO(item.name, item.shape, item.dtype) for item in declared]


def row(path: Path, family: CompiledFamily, worst: float) -> list[str]:
    """A line of the table."""
    one, other = family.artefact, family.largest
    rams = [item.report.memory.ram or 0 for item in (one, other)]
    return [
        path.stem,
        f"{one.weights:,}",
        f"{family.share:.3f}",
        f"{one.code:,}",
        f"{one.code / other.code:.2f}",
        f"{rams[0]:,}",
        f"{rams[0] / max(1, rams[1]):.2f}",
        f"{family.slice_copies} ({family.copied:,} bytes)",
        f"{worst:.0e}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="parts of names of models; all of ../shared/models by default"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/nested_variants.md"))
    given = parser.parse_args()
    rows = []
    for path in models(["shared"], given.names):
        console.print_note(f"{path.stem} …")
        family = made(path)
        rows.append(row(path, family, error(family)))
    write(given.output, "Nested variants in one artefact", table(HEADS, rows))


if __name__ == "__main__":
    main()
