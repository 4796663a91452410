"""`--search fusion`: the smallest slab of several configurations, and none that IREE cannot compile."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import onnx
from harness import serenity
from onnx import TensorProto, helper, numpy_helper
from tiny_models import model, two_convolutions

from serenity_mlir.report import Report, read_report

PAD = "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops=true"


def searched(made: onnx.ModelProto, folder: Path, *more: str) -> Report:
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    done = serenity(
        "compile", "m.onnx", "-o", "m.vmfb", "--report", "r.json", "--search", "fusion", *more, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return read_report(folder / "r.json")


def depthwise_int8() -> onnx.ModelProto:
    """A padded depthwise convolution in int8: IREE cannot translate it with the padding inside."""
    rng = np.random.default_rng(0)
    weights = [
        helper.make_tensor("scale", TensorProto.FLOAT, [], [2**-6]),  # sums are exact, and rounded alike
        helper.make_tensor("zero", TensorProto.INT8, [], [-5]),
        helper.make_tensor("none", TensorProto.INT8, [], [0]),
        numpy_helper.from_array(rng.integers(-100, 100, (8, 1, 3, 3)).astype(np.int8), "w"),
    ]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "scale", "zero"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "scale", "none"], ["wd"]),
        helper.make_node("Conv", ["xd", "wd"], ["c"], group=8, pads=[1, 1, 1, 1], name="depthwise"),
        helper.make_node("QuantizeLinear", ["c", "scale", "zero"], ["cq"]),
        helper.make_node("DequantizeLinear", ["cq", "scale", "zero"], ["y"]),
    ]
    return model(nodes, (1, 8, 32, 32), weights=weights)


def test_the_smallest_is_taken_and_computes_the_same(tmp_path: Path) -> None:
    report = searched(two_convolutions(), tmp_path, "--verify", "--compare-stock")
    default, *others = report.search
    assert default.flags == []
    (taken,) = [item for item in report.search if item.taken]
    assert taken.flags == [PAD]
    assert taken.arena == min(item.arena for item in report.search if item.arena is not None)
    # 16 channels of 8 x 8 floats between the two; the padded copies of both are gone.
    assert report.memory.slab == report.memory.final.arena == taken.arena == 16 * 8 * 8 * 4
    assert default.arena is not None
    assert default.arena > taken.arena
    assert len(others) == 4
    assert report.verify is not None
    assert report.verify.passed
    # Stock is what iree-compile does by itself.
    assert report.memory.stock is not None
    assert report.memory.stock.debug == default.arena


def test_what_iree_cannot_compile_is_not_taken(tmp_path: Path) -> None:
    report = searched(depthwise_int8(), tmp_path, "--verify")
    (padded,) = [item for item in report.search if item.flags == [PAD]]
    assert padded.arena is not None
    assert report.memory.slab is not None
    assert padded.arena < report.memory.slab
    assert "failed to run translation" in padded.fault
    assert report.search[0].taken
    assert report.verify is not None
    assert report.verify.passed


def test_a_flag_that_is_given_is_no_switch(tmp_path: Path) -> None:
    report = searched(two_convolutions(), tmp_path, "--", PAD.replace("true", "false"))
    assert len(report.search) == 4
    assert all(PAD not in item.flags for item in report.search)
    assert report.search[0].taken


def test_nothing_is_said_of_a_search_that_was_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(two_convolutions().SerializeToString())
    done = serenity("analyze", "m.onnx", "--json", "r.json", cwd=tmp_path)
    assert done.returncode == 0
    assert "search" not in msgspec.json.decode((tmp_path / "r.json").read_bytes())
