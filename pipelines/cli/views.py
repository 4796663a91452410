"""The options of `serenity analyze` for pictures, pages and traces, and what they write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from serenity_mlir.pipelines.compile import Compiled
    from serenity_mlir.views import Shown

_MARKDOWN = "markdown_path"
VIEWS = {
    "plot_path": ("--plot", "FILE.svg|.png", "Draw live bytes, arenas and peaks of random orders."),
    "html_path": ("--html", "FILE", "The same as one interactive page that needs no network."),
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


def made_views(paths: Mapping[str, Path | None], compiled: Compiled) -> dict[Path, bytes]:
    """The files that were asked for, by the values of the parameters in `VIEWS`."""
    asked = {name: path for name, path in paths.items() if path is not None}
    tables_path = asked.pop(_MARKDOWN, None)
    made = {} if tables_path is None else {tables_path: _tables(compiled)}
    return made | _drawn(asked, compiled) if asked else made


def _tables(compiled: Compiled) -> bytes:
    from serenity_mlir.views.markdown import markdown  # noqa: PLC0415  (as in the other commands)
    from serenity_mlir.views.rows import tables  # noqa: PLC0415

    if compiled.report is None:
        raise ValueError("there is a report from phase stream on")
    return markdown(tables(compiled.report), compiled.report.warnings).encode()


def _drawn(asked: Mapping[str, Path], compiled: Compiled) -> dict[Path, bytes]:
    from serenity_mlir.pipelines.views import shown  # noqa: PLC0415  (as in the other commands)

    data = shown(compiled)
    made = {path: _made(name, data, path) for name, path in asked.items() if name != "onnx_path"}
    if "onnx_path" in asked:
        from serenity_mlir.pipelines.annotated_onnx import annotated_onnx  # noqa: PLC0415

        made[asked["onnx_path"]] = annotated_onnx(compiled.source, data, asked["onnx_path"])
    return made


def _made(name: str, shown: Shown, path: Path) -> bytes:
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
