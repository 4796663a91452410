"""Off-chip traffic in the report: which regions count, and when nothing is claimed."""

from __future__ import annotations

from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.graph import Buffer, MemoryGraph, Op
from serenity_mlir.pipelines.figures import off_chip
from serenity_mlir.report import OffChip, Transfers
from serenity_mlir.schedulers import schedule

KB = 1 << 10
# The first result waits while another is made and used: together they take 50 KB.
GRAPH = MemoryGraph(
    (Op("make a", (0,)), Op("make b", (1,)), Op("use b", (1,)), Op("use a", (0,))),
    (Buffer("a", 20 * KB), Buffer("b", 30 * KB)),
    ((), (), (1,), (0, 2)),
)
MODEL = RegionSchedule("f#0", "model", GRAPH, schedule(GRAPH), 50 * KB)


def test_the_models_regions_are_summed() -> None:
    once = off_chip([MODEL])
    assert once[0] == OffChip(32 * KB, Transfers(20 * KB, 20 * KB), Transfers(0, 0))
    assert [item.before.in_ for item in once[1:]] == [0, 0, 0]
    initializer = RegionSchedule("f#1", "initializer", GRAPH, schedule(GRAPH), 50 * KB)
    assert off_chip([MODEL, initializer]) == once
    assert off_chip([MODEL, MODEL])[0].before == Transfers(40 * KB, 40 * KB)


def test_nothing_is_claimed_where_a_region_is_not_known() -> None:
    assert off_chip([MODEL, RegionSchedule("f#1", "model", None, None, 0, "a size is no constant")]) == []
