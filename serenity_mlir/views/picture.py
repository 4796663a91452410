"""`--plot`: live bytes, arenas and peaks of random orders as one figure.

Sizes are drawn in KiB; the words say them in bytes too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from serenity_mlir.sizes import size_text
from serenity_mlir.timeline import Course, Lifetime, RegionTimeline
from serenity_mlir.views.figures import draw
from serenity_mlir.views.shown import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEFORE, AFTER, BOUND = "#c9510c", "#1f6feb", "#57606a"
_PALE = {BEFORE: "#f2cdb8", AFTER: "#b6d0f7"}
_OWNERS = {"input": "#57ab5a", "output": "#e0c13c", "between regions": "#a371f7"}
_KIB = 1024
# Boxes have an edge and a name where there are few enough to tell them apart.
_EDGED, _NAMED = 400, 60
_BINS = 60
_HEADROOM = 1.16  # for the legend
_SLIM = {"handlelength": 1.0, "columnspacing": 1.0, "borderaxespad": 0.0}


def picture(shown: Shown, form: str) -> bytes:
    """The figure of the region with the highest peak, as a file.

    Args:
        shown: What is drawn.
        form: One of `FORMATS`.

    Raises:
        SerenityError: No region of the model has constant sizes.
    """
    region = max(shown.drawable(), key=lambda item: item.after.peak)
    return draw(partial(_fill, shown=shown, region=region), form, size=(11.0, 10.0))


def _fill(figure: Figure, *, shown: Shown, region: RegionTimeline) -> None:
    axes = figure.subplot_mosaic("LL;BA;OO", height_ratios=[1.0, 1.5, 0.7])
    count = len(shown.regions)
    which = f", region {region.name}, which has the highest peak of {count}" if count > 1 else ""
    figure.suptitle(f"{shown.model} ({shown.report.target}){which}", fontsize=12)
    _live(axes["L"], region)
    extent = max(_ends(region.before.buffers) + _ends(region.after.buffers), default=1)
    _arena(axes["B"], region.before, "file order", BEFORE, extent)
    _arena(axes["A"], region.after, "as compiled", AFTER, extent)
    _orders(axes["O"], shown, region)
    for item in axes.values():
        item.spines[["top", "right"]].set_visible(False)


def _live(axes: Axes, region: RegionTimeline) -> None:
    for course, colour, name in ((region.before, BEFORE, "file order"), (region.after, AFTER, "as compiled")):
        live = [step.live / _KIB for step in course.steps]
        steps = range(len(live) + 1)
        axes.step(steps, [*live, *live[-1:]], where="post", color=colour, linewidth=1.1)
        axes.fill_between(steps, [*live, *live[-1:]], step="post", color=colour, alpha=0.16, linewidth=0)
        at = course.peak_step
        label = f"{name}: peak {size_text(course.peak)} at step {at}"
        axes.plot(at + 0.5, course.peak / _KIB, "v", color=colour, markersize=7, label=label, clip_on=False)
    axes.set_title("Live memory", fontsize=11)
    highest = max(region.before.peak, region.after.peak, 1) / _KIB
    axes.set(xlabel="step", ylabel="live, KiB", ylim=(0, _HEADROOM * highest))
    axes.set_xlim(0, max(len(region.before.steps), len(region.after.steps)))
    _ticks(axes)
    axes.grid(axis="y", alpha=0.25)
    axes.legend(fontsize=9, frameon=False, loc="upper right", ncols=2, **_SLIM)


def _arena(axes: Axes, course: Course, name: str, strong: str, extent: int) -> None:
    from matplotlib.collections import PolyCollection  # noqa: PLC0415  (an extra)
    from matplotlib.patches import Patch  # noqa: PLC0415

    placed = [item for item in course.buffers if item.offset is not None]
    at = course.peak_step
    owners = {"slab": _PALE[strong], **_OWNERS}
    colours = [strong if item.first <= at <= item.last else owners[item.owner] for item in placed]
    width = 0.5 if len(placed) <= _EDGED else 0.0
    boxes = [_box(item) for item in placed]
    axes.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors="white", linewidths=width))
    size = "not planned" if course.arena is None else size_text(course.arena)
    axes.set(
        xlabel="step", ylabel="offset, KiB", xlim=(0, len(course.steps)), ylim=(0, _HEADROOM * extent / _KIB)
    )
    axes.set_title(f"Arena, {name}: {size}", fontsize=11)
    _ticks(axes)
    if course.arena:
        axes.axhline(course.arena / _KIB, color=BOUND, linewidth=0.8, linestyle=":")
    names = {"slab": "other buffers"}
    keys = [Patch(color=strong, label=f"live at the peak, step {at}")]
    used = dict.fromkeys(item.owner for item in placed)
    keys += [Patch(color=owners[owner], label=names.get(owner, owner)) for owner in used]
    axes.legend(handles=keys, fontsize=8, frameon=False, loc="upper right", ncols=4, **_SLIM)
    if len(placed) <= _NAMED:
        for item, colour in zip(placed, colours, strict=True):
            _write(axes, item, "white" if colour == strong else "black", len(course.steps), extent)


def _box(item: Lifetime) -> list[tuple[float, float]]:
    low = (item.offset or 0) / _KIB
    high = low + item.size / _KIB
    return [(item.first, low), (item.last + 1, low), (item.last + 1, high), (item.first, high)]


def _write(axes: Axes, item: Lifetime, colour: str, steps: int, extent: int) -> None:
    """A buffer's node in its box, where it fits: letters are about a 70th wide and a 25th high."""
    name = item.nodes[0] if item.nodes else item.name
    room = int((item.last + 1 - item.first) / steps * 70)
    if item.size < extent / 25 or room < min(len(name), 4):
        return
    text = name if len(name) <= room else f"{name[: room - 1]}…"
    middle = ((item.first + item.last + 1) / 2, ((item.offset or 0) + item.size / 2) / _KIB)
    axes.text(*middle, text, color=colour, fontsize=7, ha="center", va="center", clip_on=True)


def _orders(axes: Axes, shown: Shown, region: RegionTimeline) -> None:
    orders = shown.orders_of(region)
    title = "Peaks of orders"
    if orders is not None:
        values, counts = zip(*((size / _KIB, count) for size, count in orders.peaks), strict=True)
        axes.hist(values, bins=_BINS, weights=counts, color="#8b949e")
        title = f"Peaks of {orders.drawn:,} random legal orders (seed {orders.seed})"
    bound = shown.info(region).lower_bound
    if bound is not None:
        # Below the line of the order as compiled, and wider: where it is optimal, both are seen.
        label = f"lower bound: {size_text(bound)}"
        axes.axvline(bound / _KIB, color=BOUND, alpha=0.4, linewidth=6, ymax=1 / _HEADROOM, label=label)
    for course, colour, name in ((region.before, BEFORE, "file order"), (region.after, AFTER, "as compiled")):
        label = f"{name}: {size_text(course.peak)}"
        axes.axvline(course.peak / _KIB, color=colour, linewidth=1.8, ymax=1 / _HEADROOM, label=label)
    axes.set(xlabel="peak, KiB", ylabel="orders", xlim=(0, None), ylim=(0, _HEADROOM * axes.get_ylim()[1]))
    axes.set_title(title, fontsize=11)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(fontsize=9, frameon=False, loc="upper right", ncols=3, **_SLIM)


def _ends(buffers: Sequence[Lifetime]) -> list[int]:
    return [item.offset + item.size for item in buffers if item.offset is not None]


def _ticks(axes: Axes) -> None:
    """Whole steps, and sizes with commas."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  (an extra)

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
