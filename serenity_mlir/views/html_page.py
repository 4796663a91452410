"""`--html`: one page that needs no network, with charts by BokehJS.

The page holds the report and its timeline as JSON; templates/*.js make charts and tables of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from serenity_mlir.errors import SerenityError
from serenity_mlir.report import Report
from serenity_mlir.sizes import size_text
from serenity_mlir.views.shown import Shown

_OWN_SCRIPTS = ("model.js", "charts.js", "page.js")


class Tile(NamedTuple):
    """One of the figures at the top of the page."""

    name: str
    value: str
    note: str


def html_page(shown: Shown) -> bytes:
    """The page; the same analysis gives the same bytes.

    Raises:
        SerenityError: bokeh is not installed.
    """
    import jinja2  # noqa: PLC0415  (heavy)
    from markupsafe import Markup  # noqa: PLC0415

    library = bokeh_scripts()
    loader = jinja2.PackageLoader("serenity_mlir.views")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )

    def verbatim(name: str) -> Markup:
        return Markup(loader.get_source(environment, name)[0])  # noqa: S704  (our own files)

    report = shown.report
    counts = "; inputs and outputs count, they lie in the arena" if report.memory.io == "arena" else ""
    page = environment.get_template("page.html.j2").render(
        model=shown.model,
        target=report.target,
        iree=report.iree_version,
        counts=counts,
        tiles=tiles(report),
        drawn=bool(shown.regions),
        warnings=report.warnings,
        css=verbatim("page.css"),
        data=Markup(_data(shown)),  # noqa: S704  (escaped as JSON)
        scripts=[*map(Markup, library), *map(verbatim, _OWN_SCRIPTS)],
    )
    return f"{page}\n".encode()


def bokeh_scripts() -> list[str]:
    """BokehJS as its package ships it.

    Raises:
        SerenityError: bokeh is not installed.
    """
    try:
        from bokeh.resources import Resources  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise SerenityError("pages need bokeh", hint="pip install 'serenity-mlir[plot]'") from error
    scripts: list[str] = Resources(mode="inline", components=["bokeh", "bokeh-api"], minified=True).js_raw
    return scripts


def _data(shown: Shown) -> str:
    """The figures without times, which are others in each run; `<` is written so that no tag can be in it."""
    report: dict[str, Any] = msgspec.to_builtins(shown.report)
    del report["seconds"], report["schedule"]["seconds"]
    data = {"report": report, "orders": msgspec.to_builtins(shown.orders)}
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def tiles(report: Report) -> list[Tile]:
    """The figures of the whole model."""
    memory = report.memory
    before, after = memory.file_order, memory.final
    written = "" if report.as_written is None else f"without rewrites {size_text(report.as_written)}"
    arena_notes = [_from(before.arena, after.arena), written, _proof(report)]
    owner = "caller-owned" if memory.io == "external" else "in the arena while they are needed"
    ram = "slab, inputs and outputs" if memory.io == "external" else "the whole arena"
    found = [
        Tile("Live peak", _size(after.peak), _from(before.peak, after.peak)),
        Tile("Arena", _size(after.arena), "; ".join(filter(None, arena_notes))),
        Tile("RAM", _size(memory.ram), ram),
        Tile("Inputs", _size(memory.inputs), owner),
        Tile("Outputs", _size(memory.outputs), owner),
        Tile("Weights", _size(report.constants), "constants that are stored, as data and in code"),
    ]
    if memory.stock is not None:
        ratio = memory.stock.best / memory.slab if memory.stock.best and memory.slab else None
        note = "" if ratio is None else f"{ratio:.2f} times the slab as compiled"
        found.insert(2, Tile("Slab of stock IREE, best", _size(memory.stock.best), note))
    return found


def _size(size: int | None) -> str:
    return "no constant size" if size is None else size_text(size)


def _from(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return ""
    ratio = f", {before / after:.2f} times as much" if after and before != after else ""
    return f"in file order {size_text(before)}{ratio}"


def _proof(report: Report) -> str:
    if report.memory.optimal:
        return "proven optimal"
    return "" if report.memory.gap is None else f"within {report.memory.gap:.1%} of the optimum"
