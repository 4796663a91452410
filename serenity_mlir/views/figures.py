"""Figures by matplotlib: the same bytes for the same data."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from serenity_mlir.errors import SerenityError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")


def plot_format(path: Path) -> str:
    """The format that a file's name asks for.

    Raises:
        UsageError: It is none of `FORMATS`.
        SerenityError: matplotlib is not installed.
    """
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise UsageError(f"no plot in format '{form}'", hint="name a file .svg or .png")
    try:
        import matplotlib  # noqa: F401, PLC0415  (an extra)
    except ImportError as error:
        raise SerenityError("plots need matplotlib", hint="pip install 'serenity-mlir[plot]'") from error
    return form


def draw(fill: Callable[[Figure], None], form: str, *, size: tuple[float, float]) -> bytes:
    """A figure as a file.

    Args:
        fill: Draws in it.
        form: One of `FORMATS`.
        size: Inches.
    """
    import matplotlib as mpl  # noqa: PLC0415  (an extra)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"svg.hashsalt": "serenity", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        fill(figure)
        data = io.BytesIO()
        figure.savefig(data, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return data.getvalue()
