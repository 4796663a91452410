"""`serenity prune` as people call it: files, exit status, messages."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from iree import runtime
from plain_chains import POOL, chain
from reform_harness import run

from serenity_mlir.pipelines import opt
from serenity_mlir.pipelines.cli.main import main
from serenity_mlir.pipelines.importing.source import TensorIO
from serenity_mlir.pipelines.reform.prune import PruneOptions, prune
from serenity_mlir.pipelines.verify import run_compiled
from serenity_mlir.reform.budgets import Amount, Kind, shown
from serenity_mlir.reform.family import pick
from serenity_mlir.reform.report import read_prune_report

IMAGE = (2, 8, 8)


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    onnx.save(chain((8, POOL), (6, 3), image=IMAGE), tmp_path / "model.onnx")
    x = np.random.default_rng(1).standard_normal((8, *IMAGE)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, labels=np.arange(8) % 3)
    return [
        "prune",
        str(tmp_path / "model.onnx"),
        "--calibration",
        str(tmp_path / "data.npz"),
        "--method",
        "random",
        "--rewrite-limit",
        "0",
    ]


def test_a_pruned_model_and_its_figures(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, report, plot = (tmp_path / name for name in ("out.onnx", "report.json", "plot.svg"))
    options = ["--budget-macs", "50%", "--budget-energy", "1e6", "--profile", "paper-fit"]
    files = ["-o", str(out), "--report", str(report), "--plot", str(plot)]
    assert main([*arguments, *options, *files]) == 0
    found = read_prune_report(report)
    (variant,) = found.variants
    assert variant.budgets == {"macs": found.unpruned.macs / 2, "energy": 1e6}
    assert variant.figures.macs <= found.unpruned.macs / 2
    assert found.profile == "paper-fit"
    assert found.calibration.measure == "accuracy"
    onnx.checker.check_model(onnx.load(out))
    said = capsys.readouterr().err
    assert f"{variant.figures.macs:,.0f}" in said
    assert "equals the masked model" in said
    assert plot.read_text().count("<svg") == 1
    assert "accuracy against macs" in plot.read_text()


def test_each_format_computes_the_same(tmp_path: Path, arguments: list[str]) -> None:
    onnx_out, vmfb, mlir = (tmp_path / name for name in ("out.onnx", "out.vmfb", "out.mlir"))
    for out in (onnx_out, vmfb, mlir):
        assert main([*arguments, "--budget-memory", "60%", "-o", str(out)]) == 0
    x = np.load(tmp_path / "data.npz")["x"][:1]
    (wanted,) = run(onnx.load(onnx_out), {"x": x})
    (found,) = run_compiled(vmfb.read_bytes(), [TensorIO("y", (1, 3), "float32")], [x])
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert "onnx.Conv" in mlir.read_text()
    assert main(["compile", str(mlir), "-o", str(tmp_path / "again.vmfb")]) == 0


def test_out_of_reach(tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out, report = tmp_path / "out.onnx", tmp_path / "report.json"
    budgets = ["--budget-macs", "1%", "--budget-memory", "90%", "--budget-ram", "100"]
    assert main([*arguments, *budgets, "-o", str(out), "--report", str(report)]) == 3
    assert not out.exists()
    (variant,) = read_prune_report(report).variants
    assert {item.kind for item in variant.missed} == {"macs", "ram"}
    said = capsys.readouterr().err
    for item in variant.missed:
        assert f"{item.kind} comes down to {shown(item.kind, item.reached)}" in said
        assert (
            f"{item.reached / item.limit - 1:.1%} more than the budget of {shown(item.kind, item.limit)}"
            in said
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "out.onnx"], "no budget is given"),
        (["-o", "out.txt", "--budget-ram", "1"], "no model is written as '.txt'"),
        (["-o", "out.onnx", "--budget-ram", "-1"], "neither a number nor a percentage"),
        (["-o", "out.onnx", "--budget-ram", "nan%"], "neither a number nor a percentage"),
        (["-o", "out.onnx", "--budget-macs", "64KiB"], "neither a number nor a percentage"),
        (["-o", "out.onnx", "--budget-ram", "1", "--report", "out.onnx"], "two outputs have one name"),
        (["-o", "out.onnx", "--budget-ram", "1", "--profile", "none"], "no profile 'none'"),
        (
            ["-o", "out.onnx", "--budget-ram", "1", "--profile", "none.toml"],
            "none.toml: cannot be read: No such",
        ),
        (["-o", "out.onnx", "--budget-ram", "1", "--report", "sub/../out.onnx"], "two outputs have one name"),
        (["-o", "out.onnx", "--budget-ram", "1", "--contribution", "gradient"], "is of --method pi"),
        (["-o", "out.onnx", "--budget-ram", "1", "--plot", "p.pdf"], "no plot in format 'pdf'"),
    ],
)
def test_usage(  # noqa: PLR0913, PLR0917  (fixtures)
    tmp_path: Path,
    arguments: list[str],
    options: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.onnx").exists()


def test_mlir_is_sent_to_the_passes_by_lines_that_work(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ir = tmp_path / "a model.mlir"
    assert main(["compile", arguments[1], "--emit", "mlir", "--phase", "start", "-o", str(ir)]) == 0
    capsys.readouterr()
    arguments[1] = str(ir)
    assert main([*arguments, "--budget-macs", "50%", "-o", str(tmp_path / "out.onnx")]) == 1
    said = capsys.readouterr().err
    remove, show = (shlex.split(line)[1:] for line in said.splitlines() if "serenity-opt " in line)
    assert opt.main(show) == 0
    marks = re.findall(r"serenity\.channels = (\d+)", capsys.readouterr().out)
    assert marks[0] == "8"
    gates = tmp_path / "gates.json"
    gates.write_text('{"nowhere": [0]}')
    remove = [item.replace("gates.json", str(gates)) for item in remove]
    assert opt.main(remove) == 1
    names = re.search(r"operators: (\S+), ", capsys.readouterr().err)
    assert names is not None
    gates.write_text(json.dumps({names[1]: [0, 2, 5]}))
    assert opt.main(remove) == 0
    pruned = (tmp_path / "a model.pruned.mlir").read_text()
    assert "vtensor<[2,8,3,3]" not in pruned
    assert "vtensor<[5,2," in pruned


def test_a_model_without_channels_to_remove(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(chain((), (3,), image=IMAGE), tmp_path / "model.onnx")
    assert main([*arguments, "--budget-macs", "50%", "-o", str(tmp_path / "out.onnx")]) == 1
    said = capsys.readouterr().err
    assert "no channel can be removed" in said
    assert "is an output of the network" in said


def entry(vmfb: Path, name: str, x: np.ndarray) -> np.ndarray:
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(
        runtime.VmModule.copy_buffer(config.vm_instance, vmfb.read_bytes()), config
    )
    return np.asarray(module[name](x).to_host()).copy()


def test_variants_in_one_artefact(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    vmfb, report, budgets = tmp_path / "all.vmfb", tmp_path / "report.json", tmp_path / "budgets.json"
    budgets.write_text('[{"name": "large", "macs": "90%"}, {"name": "small", "macs": "50%", "memory": 5000}]')
    files = ["-o", str(vmfb), "--report", str(report)]
    assert main([*arguments, "--budgets", str(budgets), *files]) == 0
    found = read_prune_report(report)
    large, small = found.table()
    assert (large.name, small.name) == ("large", "small")
    assert found.family is not None
    assert found.family.weights[1] <= 1.05 * found.family.weights[0]
    assert "one artefact of 2 variants" in capsys.readouterr().err

    amounts = [Amount.read("90%", "macs"), Amount.read("50%", "macs"), Amount.read("5000", "memory")]
    wanted: list[dict[Kind, Amount]] = [{"macs": amounts[0]}, {"macs": amounts[1], "memory": amounts[2]}]
    alone = prune(tmp_path / "model.onnx", tmp_path / "data.npz", wanted, PruneOptions(method="random"))
    x = np.load(tmp_path / "data.npz")["x"][:1]
    for variant, name in zip(alone.variants, ("large", "small"), strict=True):
        np.testing.assert_allclose(entry(vmfb, name, x), run(variant.model, {"x": x})[0], atol=1e-5)

    assert pick([large, small], {"macs": small.measured["macs"]}) == small
    assert pick([large, small], {"macs": small.measured["macs"] - 1}) is None
    best = max((large, small), key=lambda item: item.accuracy or 0.0)
    assert pick([large, small], {}) in (best, large)


def test_budgets_of_bytes_take_kib() -> None:
    assert Amount.read("64KiB", "ram") == Amount(65536.0)
    assert Amount.read("1.5 MiB", "memory") == Amount(1572864.0)
    with pytest.raises(ValueError, match="neither a number nor a percentage"):
        Amount.read("64KiB", "energy")


def test_variants_from_the_unpruned_model_to_the_budgets(tmp_path: Path, arguments: list[str]) -> None:
    report = tmp_path / "report.json"
    options = ["--budget-macs", "40%", "--variants", "3"]
    assert main([*arguments, *options, "-o", str(tmp_path / "all.mlirbc"), "--report", str(report)]) == 0
    found = read_prune_report(report)
    whole = found.unpruned.macs
    assert [item.name for item in found.variants] == ["v0", "v1", "v2"]
    assert [item.budgets["macs"] for item in found.variants] == pytest.approx(
        [whole, 0.7 * whole, 0.4 * whole]
    )
    assert found.variants[0].figures.macs == whole
    assert main(["compile", str(tmp_path / "all.mlirbc"), "-o", str(tmp_path / "all.vmfb")]) == 0


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ('[{"macs": "50%"}]', ["--budget-macs", "1"], "--budgets gives all budgets"),
        ("[]", [], "lists no variant"),
        ("{}", [], "no list of budgets"),
        ('[{"flops": 1}]', [], "no budget 'flops'"),
        ('[{"macs": "many"}]', [], "neither a number nor a percentage"),
        ('[{"name": "a", "macs": 2}, {"name": "a", "macs": 1}]', [], "two variants have the name 'a'"),
        ('[{"macs": "40%"}, {"macs": "80%"}]', [], "variant 'v1': its budget 'macs' is above that of"),
        ('[{"macs": 1}]', ["-o", "out.onnx"], "variants are not written as '.onnx'"),
    ],
)
def test_budgets_files_that_are_none(  # noqa: PLR0913, PLR0917  (fixtures)
    tmp_path: Path,
    arguments: list[str],
    text: str,
    options: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "budgets.json").write_text(text)
    files = ["--budgets", str(tmp_path / "budgets.json"), "-o", str(tmp_path / "all.vmfb")]
    assert main([*arguments, *files, *options]) == 2
    assert said in capsys.readouterr().err
