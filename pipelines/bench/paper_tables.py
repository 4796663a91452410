"""The report of `serenity bench paper` as tables: title, headings, rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean, median
from typing import NamedTuple

from serenity_mlir.pipelines.bench.paper import PaperReport, Run, Variant
from serenity_mlir.pipelines.bench.result_file import table
from serenity_mlir.report import Transfers
from serenity_mlir.sizes import counted

_PUBLISHED = ("dp", "dp+rewriting")
"""The variants that the paper has, too."""


class TextTable(NamedTuple):
    """A table ready to print, and what must be known to read it."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str


def tables(report: PaperReport) -> Iterator[TextTable]:
    """Arenas, the same beside the paper's, other orders, off-chip traffic, the ablation."""
    yield _arenas(report)
    yield _beside_the_paper(report)
    yield _other_orders(report)
    yield _traffic(report)
    yield _ablation(report)


def settings(report: PaperReport) -> list[str]:
    """What each cell is, a line a cell."""
    return [f"{cell.name}: {counted(cell.ops, 'op')}; {cell.setting}" for cell in report.cells]


def markdown(report: PaperReport) -> str:
    """All of it as markdown."""
    parts = [
        f"## {item.title}\n\n{table(item.headings, item.rows)}\n\n{item.note}" for item in tables(report)
    ]
    return "\n\n".join([*parts, "## Cells\n\n" + "\n".join(f"- {line}" for line in settings(report))])


def _arenas(report: PaperReport) -> TextTable:
    headings = ["bytes", "file order\npeak", "TFLite\narena"]
    for name in map(_label, report.geomean):
        headings += [f"{name}\npeak", "arena", f"TFLite\n/ {name}"]
    rows = []
    for cell in report.cells:
        row = [cell.name, f"{cell.file_order:,}", f"{cell.tflite:,}"]
        for variant in cell.variants:
            row += [_peak(variant), f"{variant.arena:,}", f"{variant.ratio:.2f}"]
        rows.append(row)
    means = [text for mean in report.geomean.values() for text in ("", "", f"{mean:.2f}")]
    rows.append(["geomean", "", "", *means])
    return TextTable(
        "Peaks and arenas",
        headings,
        rows,
        "TFLite arena: greedy by size, best fit, over file order. Arenas are aligned to 64 bytes, peaks are "
        "not. A peak is proven least for its graph, unless a bound stands beside it. DP+rewriting: "
        "convolutions of concatenations become partial ones where the peak falls by it, and those of one "
        "sum run in any order; DP+chained: in the order of the concatenation. The buffer of a sum has the "
        "size of its result. The mean is over the paper's own cells, which the whole net is not.",
    )


def _other_orders(report: PaperReport) -> TextTable:
    rows = []
    for cell in report.cells:
        drawn = [height for height, count in cell.random.peaks for _ in range(count)]
        ratios = [value / cell.variants[0].peak for value in (median(drawn), max(drawn))]
        share = f"{cell.random.optimal:,} of {cell.random.orders:,}"
        rows.append([cell.name, f"{cell.breadth_first:,}", share, *(f"{value:.2f}" for value in ratios)])
    return TextTable(
        "Other orders",
        [
            "",
            "breadth-first:\nTFLite arena",
            "random orders\nof least peak",
            "median\n/ least",
            "worst\n/ least",
        ],
        rows,
        f"Breadth first is Kahn's algorithm. Random orders (seed {report.cells[0].random.seed}) run one of "
        "the ready ops next, each with the same chance; their peaks are compared with DP's.",
    )


def _beside_the_paper(report: PaperReport) -> TextTable:
    rows = []
    for cell in report.cells:
        if cell.recalled is None:
            continue
        ours = [variant for variant in cell.variants if variant.name in _PUBLISHED]
        theirs = cell.recalled
        rows.append(
            [
                cell.name,
                *(f"{value / 1000:,.0f}" for value in (cell.tflite, *(variant.arena for variant in ours))),
                *(f"{variant.ratio:.2f}" for variant in ours),
                *map(str, (theirs.tflite, theirs.dp, theirs.rewriting)),
                f"{theirs.tflite / theirs.dp:.2f}",
                f"{theirs.tflite / theirs.rewriting:.2f}",
            ]
        )
    stated = report.published
    recalled = [cell.recalled for cell in report.cells if cell.recalled is not None]
    means = [
        geometric_mean(one.tflite / one.dp for one in recalled),
        geometric_mean(one.tflite / one.rewriting for one in recalled),
    ]
    means = [*(report.geomean[name] for name in _PUBLISHED), *means]
    texts = [f"{value:.2f}" for value in means]
    rows.append(["geomean", "", "", "", *texts[:2], "", "", "", *texts[2:]])
    return TextTable(
        "Beside the paper",
        [
            *("KB (1000 bytes)", "TFLite", "DP", "DP +\nrewriting", "TFLite\n/ DP", "TFLite\n/ re."),
            *("recalled:\nTFLite", "recalled:\nDP", "recalled:\nrewriting", "recalled:\nTFLite / DP"),
            "recalled:\nTFLite / re.",
        ],
        rows,
        f"The paper's abstract states the geomeans {stated.dp} and {stated.rewriting}, and under a minute of "
        f"scheduling; the longest here is {report.worst_seconds:.2f} s. Figures of single cells are "
        "recalled from memory and NOT confirmed against the paper. SwiftNet's cells are read off a published "
        "model; the others are built from definitions, and the sizes that the paper gave them are not known.",
    )


def _traffic(report: PaperReport) -> TextTable:
    sizes = [item.on_chip for item in report.cells[0].variants[0].traffic]
    rows = []
    for cell in report.cells:
        ours = [variant.traffic for variant in cell.variants if variant.name in _PUBLISHED]
        moves = ((items[0].before, *(item.after for item in items)) for items in zip(*ours, strict=True))
        rows.append([cell.name, *(" → ".join(map(_kb, move)) for move in moves)])
    return TextTable(
        "Off-chip traffic, file order → DP → DP+rewriting",
        ["KB (1000 bytes),\nin + out", *(f"{size >> 10} KiB\non chip" for size in sizes)],
        rows,
        "Belady replacement of whole buffers; 0 is none at all. The orders are those of least peak, "
        "which need not be those of least traffic.",
    )


def _ablation(report: PaperReport) -> TextTable:
    methods = [run.method for run in report.cells[0].ablation]
    return TextTable(
        "Scheduling",
        ["seconds", *methods],
        [[cell.name, *map(_seconds, cell.ablation)] for cell in report.cells],
        f"dp: Algorithm 1; +dc: divide and conquer at cut nodes; +asb: adaptive soft budgeting; default: "
        f"ours. One run each, wall time. Where {report.time_limit:g} s (or the states) ran out before a "
        "proof, the gap is given.",
    )


def _seconds(run: Run) -> str:
    if run.peak == run.lower_bound:
        return f"{run.seconds:.3f}"
    return f"{run.seconds:.1f}, gap {1 - run.lower_bound / run.peak:.0%}"


def _peak(variant: Variant) -> str:
    bound = "" if variant.peak == variant.lower_bound else f" (>= {variant.lower_bound:,})"
    return f"{variant.peak:,}{bound}"


def _label(variant: str) -> str:
    return variant.replace("dp", "DP")


def _kb(item: Transfers) -> str:
    total = item.in_ + item.out
    return f"{total / 1000:,.0f}" if total >= 500 else "<1" if total else "0"
