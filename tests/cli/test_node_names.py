"""Every op and buffer of a report names nodes of the model, whatever IREE and rewrites made of them."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from corpus import NO_SHARED, SHARED, onnx_light_models

from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.report import Report, read_report

LIGHT = {path.stem: path for path in onnx_light_models()}
# What is work of its own, however it is fused; constants are folded, and views are nothing at run time.
WORK = (
    "Conv",
    "Gemm",
    "MatMul",
    "MaxPool",
    "AveragePool",
    "LRN",
    "Relu",
    "Concat",
    "Softmax",
)


def analyzed(model: Path, folder: Path, *flags: str) -> Report:
    figures = folder / "figures.json"
    arguments = ["analyze", str(model), "--json", str(figures), "--timeline", *flags]
    assert cli.main(arguments) == 0
    return read_report(figures)


def check(report: Report, model: Path) -> None:
    nodes = {node.name: node.op_type for node in onnx.load(model).graph.node}
    courses = [course for item in report.timeline for course in (item.before, item.after)]
    steps = {step.label: step.nodes for course in courses for step in course.steps}
    buffers = {
        item.label: item.nodes for course in courses for item in course.buffers if item.owner == "slab"
    }
    assert steps
    assert buffers
    assert [label for label, names in (*steps.items(), *buffers.items()) if not names] == []
    named = {node for names in (*steps.values(), *buffers.values()) for node in names}
    assert named - nodes.keys() == set()
    ran = {node for names in steps.values() for node in names}
    assert sorted(name for name, kind in nodes.items() if kind in WORK and name not in ran) == []
    assert report.peak is not None
    assert set(report.peak.nodes) & nodes.keys()


@pytest.mark.parametrize("name", ["light_squeezenet", "light_zfnet512", "light_bvlc_alexnet"])
def test_of_float_models(name: str, tmp_path: Path) -> None:
    check(analyzed(LIGHT[name], tmp_path, "--no-rewrite", "--no-regions", "--io", "arena"), LIGHT[name])


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("tfl_kws_int8", ("--no-rewrite", "--no-regions")),
        ("tfl_tflm_micro_speech", ("--rewrite-limit", "2")),
    ],
)
@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
def test_of_quantised_models(name: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    model = SHARED / "models" / f"{name}.onnx"
    check(analyzed(model, tmp_path, *flags), model)
