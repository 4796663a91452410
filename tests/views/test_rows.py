"""Tables of a report: their figures are those of the report, and they fit a terminal."""

from __future__ import annotations

import re

import msgspec
import pytest
from shown_cases import graph_of, shown_of

from serenity_mlir import console
from serenity_mlir.arena import ArenaPlan
from serenity_mlir.report import OUT_OF_TIME, Footprint, Memory, NotTaken, Report, Rewrite, Stock
from serenity_mlir.schedulers import Schedule
from serenity_mlir.sizes import size_text
from serenity_mlir.views.html_page import tiles
from serenity_mlir.views.proof_rows import plan_table, schedule_table
from serenity_mlir.views.rows import live_table, memory_table, peak_region, steps_table, tables

SHOWN = shown_of(graph_of(300, seed=4), drawn=1)
REGION = SHOWN.regions[0]
HUGE = 999_999_999


def with_memory(**changes: object) -> Report:
    memory: Memory = msgspec.structs.replace(SHOWN.report.memory, **changes)
    return msgspec.structs.replace(SHOWN.report, memory=memory)


def figure(cell: str) -> int:
    return int(cell.replace(",", ""))


def test_one_is_no_plural(capsys: pytest.CaptureFixture[str]) -> None:
    """Every count that a report prints, as 1 and as 2."""
    for count, ending in ((1, ""), (2, "s")):
        schedule = msgspec.structs.replace(SHOWN.report.schedule, ops=count, states=count)
        rewrites = [Rewrite("p", f"n{number}", None) for number in range(8 + count)]
        untried = [NotTaken("p", f"n{number}", OUT_OF_TIME) for number in range(count)]
        report = msgspec.structs.replace(
            SHOWN.report, schedule=schedule, rewrites=rewrites, considered=untried
        )
        console.print_report(report)
        shown = capsys.readouterr().err
        for noun in ("op", "state", "more rewrite", "further rewrite"):
            assert re.search(rf" {count} {noun}{ending}\b|^{count} {noun}{ending}\b", shown, re.MULTILINE), (
                noun
            )
    title = schedule_table(Schedule((0,), 64, 64, "dp", 1, 0.0, 1)).title
    assert title == "order of 1 op by dp: 1 state, 1 segment, 0.00 s"
    assert (
        plan_table(ArenaPlan((0,), 64, 64, "sweep", 1)).title == "arena of 1 buffer by sweep: 1 node, 0.00 s"
    )


def test_totals_are_those_of_the_report() -> None:
    stock = Stock(9000, 8000, None, 8000)
    rows = {row[0]: row[1:] for row in memory_table(with_memory(stock=stock, slab=5000)).rows}
    memory = SHOWN.report.memory
    assert [figure(cell) for cell in rows["live peak"][:2]] == [memory.file_order.peak, memory.final.peak]
    assert [figure(cell) for cell in rows["arena"][:2]] == [memory.file_order.arena, memory.final.arena]
    assert rows["arena"][-1] == "gap <= 50.0%"
    assert rows["slab IREE allocates"] == ("8,000", "5,000", "4.9", "1.60x", "")
    assert rows["IREE min-peak-memory"] == ("8,000", "", "", "", "best of stock")
    assert rows["IREE debug"][0] == "not constant"
    assert figure(rows["RAM: slab, in, out"][1]) == memory.ram
    assert figure(rows["inputs, not in slab"][1]) == memory.inputs
    assert "arena, rewritten" not in rows
    written = msgspec.structs.replace(SHOWN.report, as_written=2 * (memory.final.arena or 0))
    (row,) = [row for row in memory_table(written).rows if row[0] == "arena, rewritten"]
    assert [figure(cell) for cell in row[1:3]] == [2 * (memory.final.arena or 0), memory.final.arena]
    assert row[4] == "2.00x"
    notes = [
        next(tile.note for tile in tiles(report) if tile.name == "Arena")
        for report in (SHOWN.report, written)
    ]
    assert ["without rewrites" in note for note in notes] == [False, True]
    assert size_text(2 * (memory.final.arena or 0)) in notes[1]
    assert "inputs, in arena" in {row[0] for row in memory_table(with_memory(io="arena")).rows}


def test_the_steps_around_the_peak() -> None:
    table = steps_table(REGION)
    course, at = REGION.after, REGION.after.peak_step
    assert [row[0].lstrip(">") for row in table.rows] == [str(step) for step in range(at - 3, at + 4)]
    (marked,) = [row for row in table.rows if row[0].startswith(">")]
    assert figure(marked[3]) == course.peak == max(figure(row[3]) for row in table.rows)
    assert marked[2] == ", ".join(course.steps[at].nodes)
    for before, after in zip(table.rows, table.rows[1:], strict=False):
        assert figure(after[3]) - figure(before[3]) == figure(after[4])


def test_what_lies_outside_of_the_region_is_said() -> None:
    peak = REGION.after.peak + 2048
    more = with_memory(final=Footprint(peak, peak))
    assert tables(more)[1].title.endswith(", 2,048 bytes (2.0 KiB) outside")
    assert "outside" not in tables(SHOWN.report)[1].title


def test_what_is_live_adds_up() -> None:
    assert sum(figure(row[2]) for row in live_table(REGION).rows) == REGION.after.peak
    assert len(live_table(REGION).rows) == 9  # eight, and the rest in one


def test_without_steps_there_is_no_peak() -> None:
    assert peak_region(msgspec.structs.replace(SHOWN.report, timeline=())) is None


@pytest.mark.parametrize("columns", [80, 120])
def test_it_fits(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    sizes = dict.fromkeys(("slab", "inputs", "outputs", "weights", "ram"), HUGE)
    console.print_report(with_memory(optimal=True, stock=Stock(HUGE, HUGE, HUGE, HUGE), **sizes))
    shown = capsys.readouterr().err
    assert f"{REGION.after.peak:,}" in shown
    assert "proven optimal" in shown
    assert max(map(len, shown.splitlines())) <= columns
