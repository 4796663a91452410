"""Draw the README's picture: live bytes of the demo's network before and after.

    python docs/images/before_after.py      writes before_after.svg beside this file

Needs the `plot` extra.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import onnx
from matplotlib import pyplot as plt

from serenity_mlir.graph import MemoryGraph
from serenity_mlir.liveness import live_bytes, live_ranges
from serenity_mlir.pipelines.compile import CompileOptions, compile_model
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "examples"))

from networks import nasnet  # noqa: E402  (examples are scripts, not a package)

_BEFORE, _AFTER, _STOCK = "#b9bec6", "#1f6feb", "#c9510c"


def main() -> None:
    """Compile to phase stream, draw, write the SVG."""
    mpl.rcParams.update({"svg.hashsalt": "serenity", "svg.fonttype": "none", "font.family": "sans-serif"})
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "nasnet_a.onnx"
        onnx.save(nasnet(), model)
        order_alone = RewriteOptions(ops=False, regions=False)
        options = CompileOptions(emit="mlir", rewrite=order_alone, stream=StreamOptions(compare_stock=True))
        compiled = compile_model(model, options)
    report, stream = compiled.report, compiled.stream
    if report is None or stream is None or report.memory.stock is None or report.memory.stock.best is None:
        raise RuntimeError("the network has figures of stock")
    found = next(item for item in stream.schedules if item.role == "model" and item.schedule and item.graph)
    if found.graph is None or found.schedule is None:
        raise RuntimeError("the network was scheduled")
    figure, axes = plt.subplots(figsize=(8.4, 3.2), layout="constrained")
    _steps(_live(found.graph, found.graph.file_order), _BEFORE, "order of the file")
    _steps(_live(found.graph, found.schedule.order), _AFTER, "order found, proven least")
    best, slab = report.memory.stock.best, report.memory.slab or 0
    for height, colour, text in (
        (best, _STOCK, f"slab, best of stock IREE: {best:,} bytes"),
        (slab, _AFTER, f"slab, serenity: {slab:,} bytes"),
    ):
        axes.axhline(height / 1e6, color=colour, linestyle="--", linewidth=1)
        axes.text(len(found.schedule.order), height / 1e6, text, color=colour, va="bottom", ha="right")
    axes.set(
        xlabel="step", ylabel="MB live", xlim=(0, len(found.schedule.order)), ylim=(0, 1.15 * best / 1e6)
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc=(0.14, 0.48))
    figure.savefig(HERE / "before_after.svg", metadata={"Date": None})


def _live(graph: MemoryGraph, order: tuple[int, ...]) -> list[float]:
    return [value / 1e6 for value in live_bytes(live_ranges(graph, order), len(order))]


def _steps(values: list[float], colour: str, label: str) -> None:
    plt.fill_between(range(len(values)), values, step="post", color=colour, alpha=0.45, linewidth=0)
    plt.step(range(len(values)), values, where="post", color=colour, linewidth=1, label=label)


if __name__ == "__main__":
    main()
