"""Every example runs, and says what is true."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from corpus import REPO
from onnx.reference import ReferenceEvaluator

from serenity_mlir.report import read_report

EXAMPLES = REPO / "examples"
# NASNet-A mobile has 5,326,716 parameters in Keras, of which batch normalisation (folded here) has
# 4 * 18,369 and the last layer's bias 1,000.
NASNET_MOBILE_KERNELS = 5_326_716 - 4 * 18_369 - 1_000


def run(script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)


@pytest.fixture(scope="module")
def networks() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / "networks.py"))


def test_demo_prints_the_figures_of_its_report(tmp_path: Path) -> None:
    done = run("demo.py", "--output", tmp_path)
    report = read_report(tmp_path / "report.json")
    memory, stock, verify = report.memory, report.memory.stock, report.verify
    assert stock is not None
    assert stock.best is not None
    assert memory.slab is not None
    assert verify is not None
    assert (tmp_path / "model.vmfb").stat().st_size > memory.weights

    table: dict[str, list[int]] = {}
    for line in done.stderr.partition("around the peak")[0].splitlines():
        heading, figures = re.split(r"  +", line.strip(), maxsplit=1) if "  " in line.strip() else (line, "")
        table[heading] = [
            int(figure.replace(",", "")) for figure in re.findall(r"(?<![.\d,])[\d,]+(?![.\d,x])", figures)
        ]
    assert table["IREE max-concurrency"] == [stock.max_concurrency]
    assert table["IREE min-peak-memory"] == [stock.min_peak_memory]
    assert table["IREE debug"] == [stock.debug]
    assert table["live peak"] == [memory.file_order.peak, memory.final.peak]
    assert table["arena"] == [memory.file_order.arena, memory.final.arena]
    assert table["slab IREE allocates"] == [stock.best, memory.slab]
    assert table["inputs, not in slab"] == [memory.inputs]
    assert table["outputs, not in slab"] == [memory.outputs]
    assert table["RAM: slab, in, out"] == [memory.ram]
    assert table["weights"][1] == report.constants

    said = done.stdout.split("\n\n")[1]
    assert re.findall(r"([\d,]+) bytes", said) == [f"{stock.best:,}", f"{memory.slab:,}"]
    assert f"{stock.best / memory.slab:.2f} times less" in said
    assert f"{verify.reference} to {verify.max_rel:.1e}" in said

    # What makes it worth showing: a gain that is certain, and right results.
    assert stock.best == min(v for v in (stock.max_concurrency, stock.min_peak_memory, stock.debug) if v)
    assert stock.best > 1.3 * memory.slab
    assert verify.passed


def test_nasnet_has_the_weights_of_the_published_one(networks: dict[str, Any]) -> None:
    model = networks["nasnet"](size=224, repeats=4)
    sizes = [tensor.dims for tensor in model.graph.initializer]
    assert sum(int(np.prod(dims)) for dims in sizes if len(dims) == 4) == NASNET_MOBILE_KERNELS


def test_networks_are_the_same_each_time(networks: dict[str, Any]) -> None:
    make = networks["randwire"]
    small = {"nodes": 8, "channels": 4}
    assert make(**small) == make(**small)
    assert make(**small) != make(**small, seed=1)


@pytest.mark.parametrize("seed", range(20))
def test_watts_strogatz(networks: dict[str, Any], seed: int) -> None:
    wire = networks["watts_strogatz"]
    edges = wire(32, 4, 0.75, seed)
    assert len(edges) == 32 * 4 // 2
    assert all(0 <= low < high < 32 for low, high in edges)
    ring = {tuple(sorted((node, (node + step) % 32))) for node in range(32) for step in (1, 2)}
    assert wire(32, 4, 0.0, seed) == ring
    # Chosen again by chance, an edge may be one of the ring, but few are.
    assert 0.1 < len(edges & ring) / len(ring) < 0.6


def test_schedule_a_graph() -> None:
    lines = run("schedule_a_graph.py").stdout.splitlines()
    # By hand: four wide, one narrow, the input; then one wide, four narrow and the input no longer.
    assert lines[0].endswith("266,240 bytes live at the peak")
    assert lines[1].endswith("81,920 bytes, the least of any order")
    assert lines[2].endswith("81,920 bytes")
    order = [line[4:] for line in lines[4:13]]
    assert order[-1] == "concatenate"
    assert all(order.index(f"narrow {branch}") == order.index(f"widen {branch}") + 1 for branch in range(4))


def test_run_a_pass() -> None:
    done = run("run_a_pass.py")
    assert "32,772 bytes live at the peak in file order, 16,392 now (minimal)" in done.stderr
    ops = re.findall(r"tosa\.(\w+)", done.stdout)
    assert ops == ["abs", "reduce_min", "exp", "reduce_max", "add"]
    assert "serenity.peak = 16392" in done.stdout


def test_run_a_pass_on_a_file(tmp_path: Path) -> None:
    file = tmp_path / "open.mlir"
    file.write_text(
        "func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %y = tosa.abs %x : (tensor<?xf32>) -> tensor<?xf32>\n"
        "  return %y : tensor<?xf32>\n}\n"
    )
    assert "@open is left alone: value %0" in run("run_a_pass.py", file).stderr


@pytest.mark.parametrize("script", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_help(script: str) -> None:
    command = [sys.executable, str(EXAMPLES / script), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def test_a_file_that_is_not_there() -> None:
    command = [sys.executable, str(EXAMPLES / "run_a_pass.py"), "nowhere.mlir"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert "nowhere.mlir cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_search_architectures() -> None:
    options = ("--candidates", "12", "--nodes", "12")
    lines = run("search_architectures.py", *options).stdout.splitlines()
    assert lines[0] == "12 candidates, 12 of them proven optimal"
    smallest, file_order, largest = (
        int(re.findall(r"[\d,]+ ", text)[-1].replace(",", ""))
        for text in (lines[1].split(";")[0], lines[1].split(";")[1], lines[2].split(";")[0])
    )
    assert smallest < largest
    assert smallest <= file_order
    assert run("search_architectures.py", *options, "--jobs", "2").stdout.splitlines() == lines


def test_prune_a_network() -> None:
    lines = run("prune_a_network.py", "--method", "magnitude").stdout.splitlines()
    for line, kind in zip(lines, ("macs", "memory", "ram"), strict=False):
        assert line.startswith(f"{kind}: ")
        found, budget = (
            int(figure.replace(",", "")) for figure in re.findall(r"([\d,]+) (?:MACs|bytes)", line)
        )
        assert found <= budget
    unpruned, pruned = (float(re.findall(r"([\d.]+)%", line)[0]) for line in lines[3:])
    assert unpruned > 99
    assert unpruned > pruned > 85


def test_compile_from_python(tmp_path: Path) -> None:
    said = run("compile_from_python.py", "--output", tmp_path).stdout
    memory = read_report(tmp_path / "report.json").memory
    assert f"{memory.file_order.arena:,} bytes in file order, {memory.slab:,} in the module" in said
    # By hand: four results of 32 channels, padded, of 18x18; one of them, and the padded input.
    wide, image = 32 * 18 * 18 * 4, 3 * 18 * 18 * 4
    assert memory.slab == wide + -(-image // 64) * 64
    assert memory.file_order.peak is not None
    assert 4 * wide < memory.file_order.peak < 5 * wide
    model = onnx.load(tmp_path / "model.onnx")
    x = np.random.default_rng(0).standard_normal((1, 3, 16, 16)).astype(np.float32)
    expected = cast("list[np.ndarray]", ReferenceEvaluator(model).run(None, {"x": x}))[0]
    found = re.search(r"a run gives \(1, 16, 16, 16\) of mean (-?[\d.]+)", said)
    assert found is not None
    assert float(found[1]) == pytest.approx(float(expected.mean()), abs=1e-4)
