"""Hooks of the documentation's build: pages that are made from the code, and links that leave the documents.

`mkdocs build` calls the functions that begin with `on_`; `mkdocs.yml` names this file.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File

from serenity_mlir.dialect_passes.registry import PASSES, pass_class
from serenity_mlir.pipelines.cli.main import serenity

REPO = Path(__file__).resolve().parent.parent
_DOCS = REPO / "docs"
_LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)#\s]*)(#[^)\s]*)?\)")
_ESCAPED = str.maketrans({"|": "\\|", "<": "&lt;", "[": "\\[", "]": "\\]"})
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*/analyze_[a-z_]+\.(?:png|svg))\)")
_ELSEWHERE = r"""=["']?(?:https?:)?//[^>]*"""
_FETCHED = re.compile(rf"<(?:script|img|iframe)[^>]*\ssrc{_ELSEWHERE}|<link[^>]*\shref{_ELSEWHERE}")
# The wheel puts two trees into the package; here links do, for the reference's reader of sources.
_TREE = REPO / "build" / "docs_tree" / "serenity_mlir"


def on_startup(**_circumstances: Any) -> None:
    """Lay the sources out as Python sees them, before anything notes which of its folders are there."""
    _TREE.mkdir(parents=True, exist_ok=True)
    sources = [*(REPO / "serenity_mlir").iterdir(), REPO / "dialect_passes", REPO / "pipelines"]
    for path in sources:
        link = _TREE / path.name
        if not link.is_symlink():
            link.symlink_to(path)


def on_config(config: Any) -> Any:
    """List the decisions in the navigation."""
    decisions = sorted(path.relative_to(_DOCS).as_posix() for path in _DOCS.glob("decisions/*.md"))
    decisions.sort(key=lambda path: not path.endswith("README.md"))
    for entry in config["nav"]:
        if "Decisions" in entry:
            entry["Decisions"] = decisions
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the references of commands and passes."""
    pages = {"reference/commands.md": commands_page(), "reference/passes.md": passes_page()}
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_others: Any) -> str:
    """Links to files of the checkout that are no documents become their paths; a picture may be missing."""
    folder = (_DOCS / page.file.src_uri).parent

    def outside(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / found[2]))
        if target.is_relative_to(_DOCS):
            return found[0]
        if not target.exists():
            raise FileNotFoundError(f"{page.file.src_uri} links to {found[2]}, which is not there")
        path = target.relative_to(REPO)
        return f"`{path}`" if found[1].strip("`") in str(path) else f"{found[1]} (`{path}`)"

    def made(found: re.Match[str]) -> str:
        if (folder / found[2]).exists():
            return found[0]
        return (
            f"*({found[1]}: `python docs/images/report_page.py` takes this picture, which needs chromium.)*"
        )

    return _PICTURE.sub(made, _LINK.sub(outside, markdown))


def on_post_build(config: Any) -> None:
    """No page may make a reader's browser fetch anything from elsewhere."""
    for path in Path(config["site_dir"]).rglob("*.html"):
        found = _FETCHED.search(path.read_text("utf-8"))
        if found:
            raise ValueError(f"{path} fetches {found[0]}")


def commands_page() -> str:
    """Every command with its arguments and options, from what `--help` is made of."""
    parts = ["# Commands", "What `--help` of each says.", *_command(serenity, "serenity")]
    return "\n\n".join(parts) + "\n"


def _command(command: click.Command, name: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        for part, child in sorted(command.commands.items()):
            yield from _command(child, f"{name} {part}")
        return
    context = click.Context(command, info_name=name)
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f"## {name}"
    yield f"```text\n{name} {pieces}\n```"
    yield inspect.cleandoc(command.help or "").replace("\b", "")
    records = [found for item in command.get_params(context) if (found := item.get_help_record(context))]
    if records:
        rows = [f"| {_code(option)} | {_cell(text)} |" for option, text in records]
        yield "\n".join(["| option | |", "|---|---|", *rows])


def passes_page() -> str:
    """Every registered pass with its description and options."""
    intro = (
        "What `serenity-opt --show-passes` lists. In a pipeline a pass is `name{key=value key=value}`. "
        "The folder of its file is the dialect that it works on."
    )
    parts = ["# Passes", intro]
    for name in sorted(PASSES):
        found = pass_class(name)
        module = PASSES[name].partition(":")[0].removeprefix("serenity_mlir.").replace(".", "/")
        parts += [f"## {name}", inspect.cleandoc(found.__doc__ or ""), f"Source: `{module}.py`."]
        rows = [
            f"| `{option.key}` | {option.kind.__name__} | "
            f"{'required' if option.required else f'`{option.default!r}`'} | {_cell(option.help)} |"
            for option in found.options()
        ]
        if rows:
            parts.append("\n".join(["| option | type | default | |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _code(text: str) -> str:
    return "`" + " ".join(text.split()).replace("|", "\\|") + "`"


def _cell(text: str) -> str:
    return " ".join(text.split()).translate(_ESCAPED)
