"""`iree.compiler.tools.compile_file` and `compile_str`, with our passes.

The same keyword arguments, the same results, the same exception: a program that calls IREE's
compiler from Python changes one import. Each call compiles in a process of its own.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from iree.compiler.tools.binaries import CompilerToolError
from iree.compiler.tools.core import CompilerOptions, build_compile_command_line
from iree.compiler.tools.debugging import TempFileSaver

from serenity_mlir.pipelines.dropin.flags import SerenityFlags

__all__ = ["CompilerOptions", "CompilerToolError", "SerenityFlags", "compile_file", "compile_str"]

_NAME = "serenity-iree-compile"
_CONTAINED = "serenity_mlir.pipelines.cli.contained"
_RUN = f"import sys, {_CONTAINED} as contained; sys.exit(contained.serenity_iree_compile())"
_DEFAULT = SerenityFlags()


def compile_file(
    input_file: str | Path, *, serenity: SerenityFlags = _DEFAULT, **options: Any
) -> bytes | None:
    """Compile a file of MLIR, or an ONNX model.

    Args:
        input_file: MLIR text or bytecode under any name, or a model whose name ends in `.onnx`.
        serenity: What our passes are to do.
        options: Those of `iree.compiler.tools.CompilerOptions`: `target_backends`, `input_type`,
            `output_file`, `extra_args` and so on.

    Returns:
        The compiled module, or None where `output_file` took it.

    Raises:
        CompilerToolError: Compilation failed; the message holds what the compiler said.
    """
    with TempFileSaver.implicit() as saver:
        return _compile(str(input_file), None, saver, serenity, CompilerOptions(**options))


def compile_str(
    input_str: str | bytes, *, serenity: SerenityFlags = _DEFAULT, **options: Any
) -> bytes | None:
    """Compile MLIR that is in memory, text or bytecode; all else as for `compile_file`."""
    data = input_str.encode() if isinstance(input_str, str) else input_str
    with TempFileSaver.implicit() as saver:
        retained = saver.alloc_optional("core-input.mlir")
        if retained:
            Path(retained).write_bytes(data)
        return _compile("-", data, saver, serenity, CompilerOptions(**options))


def _compile(
    input_file: str, data: bytes | None, saver: Any, serenity: SerenityFlags, options: Any
) -> bytes | None:
    """What IREE's functions do, `IREE_SAVE_TEMPS` included, with our executable."""
    retained = saver.alloc_optional("core-output.bin", export_as=options.output_file)
    if options.output_file:
        options.output_file = retained
    arguments = [*build_compile_command_line(input_file, saver, options)[1:], *serenity.arguments()]
    command_line = saver.alloc_optional("core-command-line.txt")
    if command_line:
        Path(command_line).write_text(shlex.join([_NAME, *arguments]))
    result = _run(arguments, data)
    if options.output_file:
        return None
    if retained:
        Path(retained).write_bytes(result)
    return result


def _run(arguments: list[str], data: bytes | None) -> bytes:
    # -P: a folder `iree` in the working directory must not stand in for the package.
    command = [sys.executable, "-P", "-c", _RUN, *arguments]
    process = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603
    if process.returncode:
        raise CompilerToolError(
            subprocess.CompletedProcess(
                [_NAME, *arguments], process.returncode, process.stdout, process.stderr
            )
        )
    sys.stderr.write(process.stderr.decode("utf-8", "replace"))
    return process.stdout
