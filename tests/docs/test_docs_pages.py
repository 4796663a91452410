"""Pages that the documentation's build makes from the code."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from corpus import REPO

from serenity_mlir.dialect_passes.registry import PASSES, pass_class
from serenity_mlir.pipelines.cli.main import serenity

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install -e '.[docs]'")


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(REPO / "tools"), *sys.path])
    return __import__("docs_pages")


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def test_every_command_has_its_options(pages: Any) -> None:
    page = pages.commands_page()
    for name in ("compile", "analyze", "prune", "diff", "pack"):
        text = section(page, f"serenity {name}")
        for parameter in serenity.commands[name].params:
            if parameter.param_type_name == "option":
                assert any(option in text for option in parameter.opts), (name, parameter.name)
    assert "serenity bench paper" in page


def test_every_pass_has_its_options(pages: Any) -> None:
    page = pages.passes_page()
    for name in PASSES:
        text = section(page, name)
        assert all(f"| `{option.key}` |" in text for option in pass_class(name).options())
        file = re.search(r"Source: `(.+)`\.", text)
        assert file is not None
        assert (REPO / file[1]).is_file()


def test_links_out_of_the_documents_become_paths(pages: Any) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="tutorials/passes.md"))
    change = pages.on_page_markdown
    assert change("[a](../python.md)", page) == "[a](../python.md)"
    assert change("see [the rules](../../CONTRIBUTING.md).", page) == "see the rules (`CONTRIBUTING.md`)."
    with pytest.raises(FileNotFoundError, match="which is not there"):
        change("[a](../../nothing.md)", page)


def test_pages_that_fetch_are_refused(pages: Any, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="https://example.org">a link is no fetch</a><img src="a.png">')
    pages.on_post_build({"site_dir": str(tmp_path)})
    (tmp_path / "b.html").write_text('<link rel="stylesheet" href="https://example.org/a.css">')
    with pytest.raises(ValueError, match=r"b\.html fetches"):
        pages.on_post_build({"site_dir": str(tmp_path)})
