"""Every block of code in the documents runs, and prints what they say that it prints.

Blocks of one document run one after another in a folder of their own, which has `model.onnx` and
`data.npz` of a small network and the checkout's `examples`. A block with a title is that file, or, with
the title "prints", lines that the block before it prints. A block that cannot run here has a comment
`<!-- not run: why -->` before it; pytest shows these as skipped, with the reason.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from corpus import REPO
from docs_code import PRINTS, RUN, Block, blocks

DOCUMENTS = sorted(
    path
    for path in REPO.glob("docs/**/*.md")
    if any(block.language in RUN and not block.not_run for block in blocks(path))
)
ALL = [(path, block) for path in sorted(REPO.glob("docs/**/*.md")) for block in blocks(path)]
MARKED = [(path, block) for path, block in ALL if block.not_run]
LANGUAGES = {*RUN, "text", "json", "toml", "mlir", "c", "cmake"}


def named(path: Path, block: Block) -> str:
    return f"{path.relative_to(REPO)}:{block.line}"


@pytest.fixture(scope="module")
def network() -> bytes:
    make = runpy.run_path(str(REPO / "examples" / "compile_from_python.py"))["branches"]
    return bytes(make().SerializeToString())


@pytest.fixture
def folder(tmp_path: Path, network: bytes) -> Path:
    (tmp_path / "model.onnx").write_bytes(network)
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "branches.onnx").write_bytes(network)
    shape = [
        dim.dim_value for dim in onnx.load_from_string(network).graph.input[0].type.tensor_type.shape.dim
    ]
    samples = np.random.default_rng(0).standard_normal((4, *shape[1:])).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=samples)
    (tmp_path / "examples").symlink_to(REPO / "examples")
    return tmp_path


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPO)))
def test_a_document_runs(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    module = ModuleType("document")
    monkeypatch.setitem(sys.modules, "document", module)  # where dataclasses look for names
    said = ""
    for block in blocks(path):
        if block.not_run:
            continue
        if block.title == PRINTS:
            _check_output(block, said, named(path, block))
        elif block.title:
            Path(block.title).write_text(block.code)
        elif block.language == "sh":
            said = _shell(block, named(path, block))
        elif block.language == "python":
            said = _python(block, module.__dict__, named(path, block))


def _shell(block: Block, where: str) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{where}: {done.stderr}"
    return done.stdout + done.stderr


def _python(block: Block, namespace: dict[str, Any], where: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(block.code, where, "exec", dont_inherit=True), namespace)  # noqa: S102  (our own documents)
    return said.getvalue()


def _check_output(block: Block, said: str, where: str) -> None:
    lines = {" ".join(line.split()) for line in said.splitlines()}
    for line in block.code.splitlines():
        wanted = " ".join(line.split())
        if wanted and wanted != "…":
            assert wanted in lines, f"{where}: {wanted!r} is not printed, but\n{said}"


@pytest.mark.parametrize(("path", "block"), MARKED, ids=[named(*item) for item in MARKED])
def test_a_block_that_is_not_run_says_why(path: Path, block: Block) -> None:
    pytest.skip(block.not_run)


def test_blocks_say_what_they_are() -> None:
    unknown = [named(path, block) for path, block in ALL if block.language not in LANGUAGES]
    assert unknown == []


@pytest.mark.parametrize("language", ["json", "toml"])
def test_data_parses(language: str) -> None:
    parse = {"json": json.loads, "toml": tomllib.loads}[language]
    for _, block in ALL:
        if block.language == language:
            parse(block.code)
