"""A CMake build whose compiler tool is ours, with the calls of IREE's `iree_bytecode_module`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dropin_harness import branch_inputs, branches, built, dropin, invoke

CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(model NONE)
set(IREE_COMPILE_TOOL "iree-compile" CACHE FILEPATH "")
set(FLAGS --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic)
set(SRC "${CMAKE_CURRENT_SOURCE_DIR}/model.mlir")
add_custom_command(
  OUTPUT "model.vmfb"
  COMMAND ${IREE_COMPILE_TOOL} ${FLAGS} "${SRC}" -o "model.vmfb" -iree-llvmcpu-embedded-linker-path=${LLD}
  DEPENDS ${IREE_COMPILE_TOOL} "${SRC}"
  VERBATIM
)
add_custom_target(module ALL DEPENDS "model.vmfb")
"""


def test_cmake_build(tmp_path: Path) -> None:
    if shutil.which("cmake") is None or shutil.which("make") is None:
        pytest.skip("cmake or make is not installed")
    from iree.compiler.tools.binaries import find_tool  # noqa: PLC0415  (heavy)

    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(CMAKE)
    (source / "model.mlir").write_text(branches())
    tool = tmp_path / "serenity-iree-compile"
    code = "from serenity_mlir.pipelines.cli import contained; sys.exit(contained.serenity_iree_compile())"
    tool.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
    tool.chmod(0o755)
    lld = find_tool("iree-lld")
    settings = (f"-DIREE_COMPILE_TOOL={tool}", f"-DLLD={lld}", "-G", "Unix Makefiles")
    _call("cmake", "-S", source, "-B", build, *settings)
    _call("cmake", "--build", build)
    direct = built(
        dropin(
            source / "model.mlir",
            "--iree-hal-target-backends=llvm-cpu",
            "--iree-llvmcpu-target-cpu=generic",
            f"--iree-llvmcpu-embedded-linker-path={lld}",
        )
    )
    made = build / "model.vmfb"
    assert made.read_bytes() == direct
    invoke(direct, branch_inputs(), tmp_path)
    written = made.stat().st_mtime_ns
    _call("cmake", "--build", build)
    assert made.stat().st_mtime_ns == written
    os.utime(source / "model.mlir")
    (source / "model.mlir").write_text("func.func @main( {")
    assert subprocess.run(["cmake", "--build", str(build)], capture_output=True, check=False).returncode != 0


def _call(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
