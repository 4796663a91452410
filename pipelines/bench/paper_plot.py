"""The figure of `serenity bench paper`: how good random orders are (SERENITY, figure 3)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from serenity_mlir.views.figures import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from serenity_mlir.pipelines.bench.paper import CellResult, PaperReport

_COLUMNS = 3
_LEFT = 0.98


def plot(report: PaperReport, form: str) -> bytes:
    """One panel a cell: the share of random orders whose peak is within x times the least.

    Args:
        report: Its random orders are drawn.
        form: As `draw` takes it.
    """
    rows = -(-len(report.cells) // _COLUMNS)
    return draw(partial(_fill, report=report, rows=rows), form, size=(9.6, 2.3 * rows + 0.7))


def _fill(figure: Figure, *, report: PaperReport, rows: int) -> None:
    shown = report.cells
    widest = max(cell.random.peaks[-1][0] / cell.variants[0].peak for cell in shown)
    grid: list[Axes] = list(figure.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False).flat)
    for axes, cell in zip(grid, shown, strict=False):
        _panel(axes, cell, max(widest, 1.05))
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    # The lowest that is seen of each column.
    for axes in grid[max(len(shown) - _COLUMNS, 0) : len(shown)]:
        axes.tick_params(labelbottom=True)
    figure.supxlabel("peak / least peak")
    figure.supylabel("share of random orders within it")
    orders = shown[0].random.orders
    figure.suptitle(f"{orders:,} random orders of each cell; dashed: file order", fontsize=11)


def _panel(axes: Axes, cell: CellResult, widest: float) -> None:
    least = cell.variants[0].peak
    x, y, seen = [_LEFT], [0.0], 0
    for height, count in cell.random.peaks:
        seen += count
        x.append(height / least)
        y.append(seen / cell.random.orders)
    axes.step([*x, widest], [*y, 1.0], where="post", color="#1f6feb", linewidth=1.6)
    file_order = cell.file_order / least
    axes.axvline(file_order, color="#c9510c", linestyle="--", linewidth=1.1)
    reach = f"{cell.random.optimal / cell.random.orders:.2%} reach" if cell.random.optimal else "none reaches"
    axes.set_title(f"{cell.name}: {reach} the least", fontsize=8.5)
    axes.set(xlim=(_LEFT, widest), ylim=(0.0, 1.03))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
