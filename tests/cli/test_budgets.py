"""What is said of a model that is over its budget: nothing that was used already, all that may help."""

from __future__ import annotations

import msgspec
import pytest
from branches import write_branches

from serenity_mlir.errors import BudgetExceeded, SerenityError
from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.pipelines.cli.budgets import Budgets, check_budgets, findings
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.report import OUT_OF_TIME, NotTaken, Report, Rewrite, read_report


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
        check_budgets(report, options, Budgets(ram=1000), searched=searched)
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
    assert found.endswith("or use a smaller model")
    assert "limit" not in found


def test_limits_are_named_where_they_cut_something_short(report: Report) -> None:
    options = CompileOptions(stream=ARENA)
    open_order = msgspec.structs.replace(report, memory=msgspec.structs.replace(report.memory, optimal=False))
    assert hint(open_order, options, searched=True).startswith("raise --time-limit")
    cut = msgspec.structs.replace(report, rewrites=[Rewrite("p", "here", None), Rewrite("p", "there", 8)])
    assert hint(cut, options, searched=True).startswith("raise --rewrite-limit")
    untried = msgspec.structs.replace(report, considered=[NotTaken("p", "here", OUT_OF_TIME)])
    assert hint(untried, options, searched=True).startswith("raise --rewrite-limit")


def test_nothing_is_named_where_nothing_is_left(report: Report) -> None:
    done = msgspec.structs.replace(report, rewrites=[Rewrite("p", "there", 8)])
    found = hint(done, CompileOptions(stream=ARENA), searched=True)
    assert "--" not in found
    assert "a smaller model" in found


def test_a_budget_that_holds(report: Report) -> None:
    held = Budgets(report.memory.ram, report.memory.weights)
    check_budgets(report, CompileOptions(), held, searched=False)
    assert findings(report, held) == []
    with pytest.raises(BudgetExceeded, match="weights are"):
        check_budgets(report, CompileOptions(), Budgets(rom=report.memory.weights - 1), searched=False)


NONE_USED = CompileOptions(
    stream=StreamOptions(schedule=False), rewrite=RewriteOptions(ops=False, exact=True)
)


def measured(report: Report, sizes: dict[str, int | None], budget: int) -> tuple[str, list[str]]:
    """The hint where each way, by what was changed last, comes to a size; and the ways in their order."""
    asked: list[str] = []

    def measure(options: CompileOptions) -> Report:
        assert options.stream.schedule
        assert options.rewrite.ops
        assert not options.rewrite.exact
        way = "memory" if not options.rewrite.balanced else options.stream.io
        asked.append(way)
        if sizes[way] == -1:
            raise SerenityError("IREE does not compile it")
        return msgspec.structs.replace(report, memory=msgspec.structs.replace(report.memory, ram=sizes[way]))

    over = msgspec.structs.replace(report, memory=msgspec.structs.replace(report.memory, ram=9000))
    with pytest.raises(BudgetExceeded) as caught:
        check_budgets(over, NONE_USED, Budgets(ram=budget), searched=True, measure=measure)
    return caught.value.hint or "", asked


def test_ways_are_measured_one_on_top_of_the_other_up_to_the_first_that_fits(report: Report) -> None:
    found, asked = measured(report, {"external": 8000, "arena": 7000, "memory": 6000}, 7500)
    assert asked == ["external", "arena"]
    first, second, last = (line.strip() for line in found.splitlines())
    assert first.startswith("leave out --no-schedule, --no-rewrite, --exact: saves 1,000 bytes (1.0 KiB)")
    assert first.endswith("leaves 8,000 bytes (7.8 KiB), 500 bytes (0.5 KiB) too many")
    assert second.startswith("and --io arena")
    assert second.endswith("saves 1,000 bytes (1.0 KiB), leaves 7,000 bytes (6.8 KiB), which fits")
    assert last.startswith("else remove channels by `serenity prune`")


def test_ways_that_lead_nowhere_say_so(report: Report) -> None:
    found, asked = measured(report, {"external": -1, "arena": None, "memory": 9500}, 100)
    assert asked == ["external", "arena", "memory"]
    assert "not possible, IREE does not compile it" in found
    assert "--io arena (inputs and outputs share the arena): RAM has no constant size" in found
    assert "--objective memory (at the price of latency): saves nothing" in found


def test_rewrites_not_taken_at_the_peak_say_why(report: Report) -> None:
    assert report.peak is not None
    at, elsewhere = report.peak.nodes[0], "another"
    considered = [NotTaken("split", at, "too slow"), NotTaken("split", elsewhere, "too slow")]
    found = hint(msgspec.structs.replace(report, considered=considered), CompileOptions(), searched=True)
    assert f"not taken: split at {at}, too slow" in found
    assert elsewhere not in found


def test_what_is_over_names_the_nodes_at_the_peak(report: Report) -> None:
    assert report.peak is not None
    ram, rom = findings(report, Budgets(1000, 1000))
    assert (ram.rule, ram.nodes) == ("ram-budget", tuple(report.peak.nodes))
    assert rom.rule == "rom-budget"
    assert all(label in ram.message for label, _ in report.peak.buffers[:8])
    unknown = msgspec.structs.replace(report, memory=msgspec.structs.replace(report.memory, ram=None))
    assert "no constant size" in findings(unknown, Budgets(ram=10**9))[0].message
