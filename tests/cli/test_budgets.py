"""What is said of a model that is over its budget: nothing that was used already, all that may help."""

from __future__ import annotations

import msgspec
import pytest
from branches import write_branches

from serenity_mlir.errors import BudgetExceeded
from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.pipelines.cli.budgets import check_budgets
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.report import Report, Rewrite, read_report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("budgets")
    model = write_branches(folder / "branches.onnx")
    flags = ["--no-rewrite", "--no-regions", "--json", str(folder / "r.json")]
    assert cli.main(["analyze", str(model), *flags]) == 0
    found = read_report(folder / "r.json")
    assert found.memory.optimal
    return msgspec.structs.replace(found, rewrites=[])


def hint(report: Report, options: CompileOptions, *, searched: bool) -> str:
    with pytest.raises(BudgetExceeded) as caught:
        check_budgets(report, options, searched=searched, ram=1000, rom=None)
    assert caught.value.hint is not None
    return caught.value.hint


ARENA = StreamOptions(io="arena")


@pytest.mark.parametrize(
    ("options", "searched", "flag"),
    [
        (CompileOptions(stream=ARENA), False, "--search fusion"),
        (CompileOptions(), True, "--io arena"),
        (CompileOptions(stream=ARENA, rewrite=RewriteOptions(ops=False)), True, "--no-rewrite"),
        (CompileOptions(stream=ARENA, rewrite=RewriteOptions(regions=False)), True, "--no-regions"),
        (CompileOptions(stream=ARENA, rewrite=RewriteOptions(exact=True)), True, "--exact"),
        (CompileOptions(stream=StreamOptions(io="arena", schedule=False)), True, "--no-schedule"),
        (CompileOptions(stream=StreamOptions(arena=False)), True, "--no-arena"),
    ],
)
def test_what_was_not_used_is_named(
    report: Report, options: CompileOptions, searched: bool, flag: str
) -> None:
    found = hint(report, options, searched=searched)
    assert flag in found
    assert found.endswith("else use a smaller model")
    assert "limit" not in found


def test_limits_are_named_where_they_cut_something_short(report: Report) -> None:
    options = CompileOptions(stream=ARENA)
    open_order = msgspec.structs.replace(report, memory=msgspec.structs.replace(report.memory, optimal=False))
    assert hint(open_order, options, searched=True).startswith("raise --time-limit")
    cut = msgspec.structs.replace(report, rewrites=[Rewrite("p", "here", None), Rewrite("p", "there", 8)])
    assert hint(cut, options, searched=True).startswith("raise --rewrite-limit")


def test_nothing_is_named_where_nothing_is_left(report: Report) -> None:
    done = msgspec.structs.replace(report, rewrites=[Rewrite("p", "there", 8)])
    found = hint(done, CompileOptions(stream=ARENA), searched=True)
    assert "--" not in found
    assert "a smaller model" in found


def test_a_budget_that_holds(report: Report) -> None:
    check_budgets(report, CompileOptions(), searched=False, ram=report.memory.ram, rom=report.memory.weights)
    with pytest.raises(BudgetExceeded, match="weights are"):
        check_budgets(report, CompileOptions(), searched=False, ram=None, rom=report.memory.weights - 1)
