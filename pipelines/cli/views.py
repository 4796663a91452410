"""The options of `serenity analyze` for pictures, pages and traces, and what they write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from serenity_mlir.pipelines.compile import Compiled
    from serenity_mlir.views import Shown

VIEWS = {
    "plot_path": ("--plot", "FILE.svg|.png", "Draw live bytes, arenas and random orders."),
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
    plot = paths["plot_path"]
    if plot is not None:
        from serenity_mlir.views.figures import plot_format  # noqa: PLC0415  (as in the other commands)

        plot_format(plot)


def made_views(paths: Mapping[str, Path | None], compiled: Compiled) -> dict[Path, bytes]:
    """The files that were asked for, by the values of the parameters in `VIEWS`."""
    asked = {name: path for name, path in paths.items() if path is not None}
    if not asked:
        return {}
    from serenity_mlir.pipelines.views import shown  # noqa: PLC0415  (as in the other commands)

    if compiled.report is None or compiled.stream is None:
        raise RuntimeError("phase stream makes a report")
    data = shown(compiled.report, compiled.stream)
    return {path: _MAKERS[name](data, path) for name, path in asked.items()}


def _plot(shown: Shown, path: Path) -> bytes:
    from serenity_mlir.views.figures import plot_format  # noqa: PLC0415  (as in the other commands)
    from serenity_mlir.views.picture import picture  # noqa: PLC0415

    return picture(shown, plot_format(path))


_MAKERS: Mapping[str, Callable[[Shown, Path], bytes]] = {"plot_path": _plot}
