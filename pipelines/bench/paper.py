"""`serenity bench paper`: the evaluation of the SERENITY paper (Ahn et al., MLSys 2020) over again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

import msgspec

from serenity_mlir.arena import plan
from serenity_mlir.arena.tflite_layout import ALIGNMENT, tflite_layout
from serenity_mlir.errors import SerenityError
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import Slice, live_ranges, peak
from serenity_mlir.pipelines.bench.networks import darts_normal_cell, randwire_stage
from serenity_mlir.pipelines.bench.rewriting import rewrite
from serenity_mlir.pipelines.bench.topology import Topology, read_topology
from serenity_mlir.random_orders import random_peaks
from serenity_mlir.report import OffChip, Transfers
from serenity_mlir.schedulers import Schedule, schedule
from serenity_mlir.schedulers.baselines import kahn
from serenity_mlir.traffic import ON_CHIP, traffic

SWIFTNET = Path("..", "shared", "data", "swiftnet_cells")
"""Where SwiftNet's cells are when the working directory is a checkout."""

METHODS = ("dp", "dp+dc", "dp+dc+asb", "default")
"""What the ablation times: each part of SERENITY added to the ones before, then our default."""

_SWIFTNET_NAMES = {
    **{f"swift_{name}": f"SwiftNet {name}" for name in "ABC"},
    "swift_full": "SwiftNet, whole net",
}

_NODES, _CHANNELS, _SIZE = 32, 78, 16


class Recalled(msgspec.Struct, frozen=True):
    """KB that we recall the paper to state for TFLite, DP, and DP with rewriting; not confirmed."""

    tflite: int
    dp: int
    rewriting: int


RECALLED = {
    "DARTS normal cell": Recalled(1656, 903, 753),
    "SwiftNet A": Recalled(552, 251, 226),
    "SwiftNet B": Recalled(194, 82, 72),
    "SwiftNet C": Recalled(70, 33, 20),
    "RandWire CIFAR10 A": Recalled(645, 459, 459),
    "RandWire CIFAR10 B": Recalled(330, 260, 260),
    "RandWire CIFAR100 A": Recalled(605, 359, 359),
    "RandWire CIFAR100 B": Recalled(350, 280, 280),
    "RandWire CIFAR100 C": Recalled(160, 115, 115),
}


class Published(msgspec.Struct, frozen=True):
    """What the paper's abstract states: geometric means over its cells, and seconds of overhead."""

    dp: float = 1.68
    rewriting: float = 1.86
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Cell:
    """A graph of the evaluation.

    Attributes:
        name: What the tables call it.
        setting: Width, size and wiring; a sentence's part.
        topology: Its layers.
    """

    name: str
    setting: str
    topology: Topology


class Variant(msgspec.Struct, frozen=True, omit_defaults=True):
    """The least peak of a graph that computes what the cell computes.

    Attributes:
        name: How the graph came about: "dp" is the cell as it is, "dp+rewriting" rewritten where the
            peak falls by it, "dp+chained" with partial convolutions that run in one order only.
        peak: Live bytes of the best order.
        lower_bound: No order has a smaller peak.
        arena: Bytes of the arena that holds it, offsets aligned as TFLite aligns them.
        ratio: TFLite's arena over this one.
        traffic: Before is the cell in file order, after the best order of this graph.
        split: Names of the layers that rewriting split, where there is any.
    """

    name: str
    peak: int
    lower_bound: int
    arena: int
    ratio: float
    traffic: list[OffChip]
    split: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """One method of the ablation, stopped at the time limit."""

    method: str
    seconds: float
    states: int
    peak: int
    lower_bound: int


class RandomOrders(msgspec.Struct, frozen=True):
    """Peaks of random orders.

    Attributes:
        seed: Of the draws.
        orders: How many were drawn.
        optimal: How many of them have the least peak.
        peaks: Each peak that occurred, and how often, by rising peak.
    """

    seed: int
    orders: int
    optimal: int
    peaks: list[tuple[int, int]]


class CellResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that is measured of one cell; sizes in bytes.

    Attributes:
        file_order: Live peak in file order.
        tflite: TFLite's arena for file order.
        breadth_first: TFLite's arena for the breadth-first order (Kahn's algorithm).
    """

    name: str
    setting: str
    ops: int
    file_order: int
    tflite: int
    breadth_first: int
    variants: list[Variant]
    ablation: list[Run]
    random: RandomOrders
    recalled: Recalled | None = None


class PaperReport(msgspec.Struct, frozen=True):
    """What `--json` writes.

    Attributes:
        geomean: Geometric mean of the ratios of each variant over those cells that the paper has.
        worst_seconds: The longest that the default method took for a cell.
        recalled_confirmed: False: the `recalled` figures of cells were not compared with the paper.
    """

    schema_version: int
    time_limit: float
    cells: list[CellResult]
    geomean: dict[str, float]
    worst_seconds: float
    published: Published
    recalled_confirmed: bool

    def to_json(self) -> bytes:
        """The report as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def cells(swiftnet: Path) -> list[Cell]:
    """The evaluation's cells; SwiftNet's only if the folder `swiftnet` is there.

    Raises:
        SerenityError: The folder holds no ONNX file or a bad one, or networkx is not installed.
    """
    found = [
        Cell(
            "DARTS normal cell",
            "DARTS-V2, 48 channels, 28x28, float32, from its squeezed inputs to the next cell's squeeze",
            darts_normal_cell(),
        )
    ]
    if swiftnet.is_dir():
        paths = sorted(swiftnet.glob("*.onnx"))
        if not paths:
            raise SerenityError("holds no .onnx file", file=str(swiftnet), hint="name another folder")
        for path in paths:
            name = _SWIFTNET_NAMES.get(path.stem, path.stem)
            found.append(Cell(name, f"int8, layers and sizes of {path.name}", read_topology(path)))
    stages = [("CIFAR10", stage) for stage in range(2)] + [("CIFAR100", stage) for stage in range(3)]
    for seed, (data, stage) in enumerate(stages):
        channels, size = _CHANNELS << stage, _SIZE >> stage
        setting = f"WS({_NODES}, 4, 0.75), seed {seed}, {channels} channels, {size}x{size}, float32"
        topology = randwire_stage(_NODES, channels=channels, size=size, seed=seed)
        found.append(Cell(f"RandWire {data} {'ABC'[stage]}", setting, topology))
    return found


def measure(
    found: Sequence[Cell], *, time_limit: float, orders: int, seed: int, progress: Callable[[str], None]
) -> PaperReport:
    """Measure each cell.

    Args:
        found: At least one.
        time_limit: Seconds for each method on each cell, and for each arena.
        orders: Random orders to draw for each cell.
        seed: Of the random orders.
        progress: Called with the name of each cell as it begins.
    """
    results = []
    for cell in found:
        progress(cell.name)
        results.append(_measured(cell, time_limit, orders, seed))
    names = [variant.name for variant in results[0].variants]
    return PaperReport(
        schema_version=1,
        time_limit=time_limit,
        cells=results,
        geomean={
            name: geometric_mean(
                result.variants[index].ratio for result in results if result.recalled is not None
            )
            for index, name in enumerate(names)
        },
        worst_seconds=max(result.ablation[-1].seconds for result in results),
        published=Published(),
        recalled_confirmed=False,
    )


def _measured(cell: Cell, time_limit: float, orders: int, seed: int) -> CellResult:
    graph = cell.topology.memory_graph()
    schedules = {method: schedule(graph, method=method, time_limit=time_limit) for method in METHODS}
    best = schedules["default"]
    peaks = random_peaks(graph, orders, seed=seed)
    return CellResult(
        name=cell.name,
        setting=cell.setting,
        ops=len(graph.ops),
        file_order=peak(graph, graph.file_order),
        tflite=_tflite(graph, graph.file_order),
        breadth_first=_tflite(graph, kahn(graph)),
        variants=_variants(graph, cell.topology, best, time_limit),
        ablation=[
            Run(method, found.seconds, found.states, found.peak, found.lower_bound)
            for method, found in schedules.items()
        ],
        random=RandomOrders(seed, orders, peaks.get(best.peak, 0), list(peaks.items())),
        recalled=RECALLED.get(cell.name),
    )


def _variants(graph: MemoryGraph, topology: Topology, best: Schedule, time_limit: float) -> list[Variant]:
    """Figures of the graph in its best order, and of what rewriting makes of it."""
    tflite = _tflite(graph, graph.file_order)
    before = [_transfers(graph, graph.file_order, size) for size in ON_CHIP]
    # Planned once each: rewriting that splits nothing leaves graph and order, and a second search that
    # time ends elsewhere would give the same cell another figure.
    arenas: dict[tuple[Slice, ...], int] = {}

    def variant(name: str, graph: MemoryGraph, found: Schedule, split: tuple[str, ...] = ()) -> Variant:
        ranges = tuple(live_ranges(graph, found.order))
        if ranges not in arenas:
            arenas[ranges] = plan(ranges, alignment=ALIGNMENT, time_limit=time_limit).size
        arena = arenas[ranges]
        moved = [
            OffChip(size, stock, _transfers(graph, found.order, size))
            for size, stock in zip(ON_CHIP, before, strict=True)
        ]
        return Variant(name, found.peak, found.lower_bound, arena, tflite / arena, moved, split)

    variants = [variant("dp", graph, best)]
    for name, chained in (("dp+chained", True), ("dp+rewriting", False)):
        found = rewrite(topology, best, time_limit=time_limit, chained=chained)
        variants.append(variant(name, found.topology.memory_graph(), found.schedule, found.split))
    return variants


def _tflite(graph: MemoryGraph, order: Sequence[int]) -> int:
    return tflite_layout(live_ranges(graph, order)).size


def _transfers(graph: MemoryGraph, order: Sequence[int], on_chip: int) -> Transfers:
    found = traffic(graph, order, on_chip)
    return Transfers(found.bytes_in, found.bytes_out)
