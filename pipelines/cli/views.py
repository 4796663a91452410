"""The options of `serenity analyze` for pictures, pages and traces, and what they write."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from serenity_mlir.pipelines.compile import Compiled
    from serenity_mlir.views import Shown

_MARKDOWN = "markdown_path"
_EXTRA = "(takes the extra `plot`)"
VIEWS = {
    "plot_path": (
        "--plot",
        "FILE.svg|.png",
        f"Draw live bytes, arenas and peaks of random orders {_EXTRA}.",
    ),
    "html_path": (
        "--html",
        "FILE",
        f"The same as one interactive page that needs no network {_EXTRA}.",
    ),
    "trace_path": ("--trace", "FILE", "Steps and buffers as a trace that Perfetto opens."),
    "explorer_path": ("--model-explorer", "FILE", "Live bytes of each node, as Model Explorer reads them."),
    "onnx_path": ("--annotated-onnx", "FILE", "The model, each node with its steps and live bytes."),
    _MARKDOWN: ("--markdown", "FILE", "Tables as GitHub-flavoured Markdown; - is stdout."),
    "dot_path": ("--dot", "FILE", "Ops with their steps and live bytes as Graphviz draws them."),
}
"""Options by the name of their parameter: how it is spelled, what it takes, what it is for."""


def view_options(command: Any) -> Any:
    """Give a command the options of `VIEWS`."""
    for parameter, (name, metavar, text) in reversed(VIEWS.items()):
        kind = click.Path(path_type=Path)
        command = click.option(name, parameter, type=kind, metavar=metavar, help=text)(command)
    return command


def check_views(paths: Mapping[str, Path | None]) -> None:
    """Refuse what cannot be made, before time is spent on it.

    Raises:
        UsageError: A file's name asks for a format that there is not.
        SerenityError: An extra that is needed is not installed.
    """
    from serenity_mlir.views.figures import plot_format  # noqa: PLC0415  (as in the other commands)
    from serenity_mlir.views.html_page import bokeh_scripts  # noqa: PLC0415

    if paths["plot_path"] is not None:
        plot_format(paths["plot_path"])
    if paths["html_path"] is not None:
        bokeh_scripts()


def view_makers(
    paths: Mapping[str, Path | None], compiled: Compiled, *, traffic: bool, dispatches: bool
) -> dict[Path, Callable[[], bytes]]:
    """What makes each file that was asked for, by the values of the parameters in `VIEWS`.

    Args:
        paths: The values.
        compiled: What is shown.
        traffic: Whether tables have off-chip traffic.
        dispatches: Whether tables have dispatches.
    """
    from serenity_mlir.pipelines.views import shown  # noqa: PLC0415  (as in the other commands)

    asked = {name: path for name, path in paths.items() if path is not None}
    tables_path = asked.pop(_MARKDOWN, None)
    made: dict[Path, Callable[[], bytes]] = {}
    if tables_path is not None:
        made[tables_path] = partial(_tables, compiled, traffic=traffic, dispatches=dispatches)
    if asked:
        data = shown(compiled)
        made |= {path: partial(_drawn, name, path, compiled, data) for name, path in asked.items()}
    return made


def _tables(compiled: Compiled, *, traffic: bool, dispatches: bool) -> bytes:
    from serenity_mlir.views.detail_rows import detail_tables  # noqa: PLC0415  (as in the other commands)
    from serenity_mlir.views.markdown import markdown  # noqa: PLC0415
    from serenity_mlir.views.rows import tables  # noqa: PLC0415

    if compiled.report is None:
        raise ValueError("there is a report from phase stream on")
    more = detail_tables(compiled.report, traffic=traffic, dispatches=dispatches)
    return markdown([*tables(compiled.report), *more], compiled.report.warnings).encode()


def _drawn(name: str, path: Path, compiled: Compiled, shown: Shown) -> bytes:
    if name == "onnx_path":
        from serenity_mlir.pipelines.annotated_onnx import annotated_onnx  # noqa: PLC0415

        return annotated_onnx(compiled.source, shown, path)
    if name == "plot_path":
        from serenity_mlir.views.figures import plot_format  # noqa: PLC0415  (heavy, as all of these)
        from serenity_mlir.views.picture import picture  # noqa: PLC0415

        return picture(shown, plot_format(path))
    from serenity_mlir.views.graphviz import dot  # noqa: PLC0415
    from serenity_mlir.views.html_page import html_page  # noqa: PLC0415
    from serenity_mlir.views.node_data import node_data  # noqa: PLC0415
    from serenity_mlir.views.trace import trace  # noqa: PLC0415

    makers = {"html_path": html_page, "trace_path": trace, "explorer_path": node_data, "dot_path": dot}
    return makers[name](shown)
