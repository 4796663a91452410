"""The figure of `serenity prune --plot`: score by budget, PI and costs of layers, channels on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serenity_mlir.reform.budgets import KINDS, UNITS, Kind
from serenity_mlir.views.figures import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from serenity_mlir.reform.report import PruneReport

_COLUMNS = 3
_BLUE, _ORANGE, _GREY = "#1f6feb", "#c9510c", "#8b949e"


def plot_pruning(report: PruneReport, form: str) -> bytes:
    """One panel for each kind of resource, one for priorities, one for costs, one for channels.

    Args:
        report: Of a pruning.
        form: "svg" or "png".
    """
    kinds: list[Kind] = [kind for kind in KINDS if getattr(report.unpruned, kind) is not None]
    rows = -(-(len(kinds) + 3) // _COLUMNS)

    def fill(figure: Figure) -> None:
        grid: list[Axes] = list(figure.subplots(rows, _COLUMNS, squeeze=False).flat)
        for axes, kind in zip(grid, kinds, strict=False):
            _score_against(axes, report, kind)
        _priorities(grid[len(kinds)], report)
        _costs(grid[len(kinds) + 1], report)
        (_gates if report.rounds else _channels)(grid[len(kinds) + 2], report)
        for axes in grid[len(kinds) + 3 :]:
            axes.set_visible(False)
        figure.suptitle(f"{report.model.path}: method {report.method}, profile {report.profile}", fontsize=11)

    return draw(fill, form, size=(12.0, 3.0 * rows + 0.5))


def _score_against(axes: Axes, report: PruneReport, kind: Kind) -> None:
    points = [point.figures for point in report.path if getattr(point.figures, kind) is not None]
    axes.plot(
        [getattr(item, kind) for item in points],
        [item.score for item in points],
        "o-",
        color=_BLUE,
        markersize=4,
        label="on the way",
    )
    axes.plot(
        [getattr(item.figures, kind) for item in report.variants],
        [item.figures.score for item in report.variants],
        "s",
        color=_ORANGE,
        label="variants",
    )
    for variant in report.variants:
        if kind in variant.budgets:
            axes.axvline(variant.budgets[kind], color=_GREY, linestyle="--", linewidth=1)
    axes.set(xlabel=f"{kind} ({UNITS[kind]})", ylabel=report.calibration.measure)
    axes.set_title(f"{report.calibration.measure} against {kind}; dashed: budget", fontsize=9)
    axes.legend(fontsize=7)
    _plain(axes)


def _priorities(axes: Axes, report: PruneReport) -> None:
    groups = report.variants[-1].groups
    for index, group in enumerate(groups):
        axes.plot([index] * len(group.priorities), group.priorities, "_", color=_BLUE)
    axes.set_yscale("symlog", linthresh=1e-6)
    axes.set(xlabel="layer (coupled group)", ylabel="PI")
    axes.locator_params("x", integer=True)
    axes.set_title("priority of the channels that were masked", fontsize=9)
    _plain(axes)


def _costs(axes: Axes, report: PruneReport) -> None:
    layers = report.variants[-1].layers
    places = range(len(layers))
    axes.bar(places, [layer.macs[0] for layer in layers], color=_GREY, label="unpruned")
    axes.bar(places, [layer.macs[1] for layer in layers], color=_BLUE, label="pruned")
    axes.set(xlabel="layer", ylabel="MACs")
    axes.locator_params("x", integer=True)
    axes.set_title("multiply-accumulates of each layer", fontsize=9)
    axes.legend(fontsize=7)
    _plain(axes)


def _channels(axes: Axes, report: PruneReport) -> None:
    sizes = report.path[0].kept
    steps = [point.masked for point in report.path]
    for index, size in enumerate(sizes):
        axes.plot(steps, [point.kept[index] / size for point in report.path], linewidth=1)
    axes.set(xlabel="channels masked", ylabel="gates left open", ylim=(0.0, 1.03))
    axes.set_title("gates of each layer over the iterations", fontsize=9)
    _plain(axes)


def _gates(axes: Axes, report: PruneReport) -> None:
    rounds = range(1, len(report.rounds) + 1)
    for index, size in enumerate(report.path[0].kept):
        color = f"C{index % 10}"
        axes.plot(rounds, [item.gates[index] for item in report.rounds], color=color, linewidth=1)
        within = [item.kept[index] / size for item in report.rounds]
        axes.plot(rounds, within, "--", color=color, linewidth=1)
    axes.set(xlabel="round of ADMM", ylabel="mean of gates")
    axes.locator_params("x", integer=True)
    axes.set_title("gates of each layer; dashed: open within the budgets", fontsize=9)
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.tick_params(labelsize=7)
