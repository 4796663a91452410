"""The Python API beside the one that it mirrors, and IREE's own pointed at our executable."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from dropin_harness import BROKEN, CHAIN, branch_inputs, branches, invoke
from iree.compiler import tools as stock_tools

from serenity_mlir.pipelines import tools
from serenity_mlir.pipelines.dropin.stock import stock_compiler

OPTIONS: dict[str, Any] = {
    "target_backends": ["llvm-cpu"],
    "extra_args": ["--iree-llvmcpu-target-cpu=generic"],
}


def test_compile_str_gives_what_iree_gives_where_nothing_is_to_change() -> None:
    assert tools.compile_str(CHAIN, **OPTIONS) == stock_tools.compile_str(CHAIN, **OPTIONS)


def test_compile_file_and_flags_of_ours(tmp_path: Path) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.vmfb"
    source.write_text(branches())
    assert tools.compile_file(source, output_file=str(output), **OPTIONS) is None
    disabled = tools.compile_file(str(source), serenity=tools.SerenityFlags(disable=True), **OPTIONS)
    assert disabled == stock_tools.compile_file(str(source), **OPTIONS)
    assert isinstance(disabled, bytes)
    _, ours = invoke(output.read_bytes(), branch_inputs(), tmp_path)
    _, theirs = invoke(disabled, branch_inputs(), tmp_path)
    assert ours < theirs


def test_failure_is_the_exception_of_iree() -> None:
    with pytest.raises(stock_tools.CompilerToolError) as caught:
        tools.compile_str(BROKEN, **OPTIONS)
    assert "<stdin>:1:17: error: expected non-function type" in str(caught.value)
    assert "serenity-iree-compile" in str(caught.value)


def test_unknown_option_is_refused_as_by_iree() -> None:
    with pytest.raises(TypeError):
        tools.compile_str(CHAIN, no_such_option=1)


def test_retained_temporaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IREE_SAVE_TEMPS", str(tmp_path))
    result = tools.compile_str(CHAIN, **OPTIONS)
    assert (tmp_path / "core-input.mlir").read_text() == CHAIN
    assert (tmp_path / "core-output.bin").read_bytes() == result
    assert "--iree-hal-target-backends=llvm-cpu" in (tmp_path / "core-command-line.txt").read_text()


def test_iree_finds_us_in_its_tool_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`IREE_TOOL_PATH` puts us in iree-compile's place; we must still find the real one."""
    stand_in = tmp_path / "iree-compile"
    code = "from serenity_mlir.pipelines.cli import contained; sys.exit(contained.serenity_iree_compile())"
    stand_in.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
    stand_in.chmod(0o755)
    expected = stock_tools.compile_str(CHAIN, **OPTIONS)
    monkeypatch.setenv("IREE_TOOL_PATH", str(tmp_path))
    assert "llvm-cpu" in stock_tools.query_available_targets()
    assert stock_tools.compile_str(CHAIN, **OPTIONS) == expected
    assert Path(stock_compiler()) != stand_in
