"""From a model to a firmware library, as files by name."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.pipelines.compile import Compiled, CompileOptions
from serenity_mlir.pipelines.firmware.check_object import check_object
from serenity_mlir.pipelines.firmware.emit_c import Library, emit_header, emit_source
from serenity_mlir.pipelines.firmware.files import library_files
from serenity_mlir.pipelines.firmware.hal_walk import walk
from serenity_mlir.pipelines.firmware.linked import Measured, measure
from serenity_mlir.pipelines.firmware.object_file import read_object
from serenity_mlir.pipelines.firmware.place import place
from serenity_mlir.pipelines.firmware.quantisation import with_quantisation
from serenity_mlir.pipelines.firmware.targets import Board, firmware_target
from serenity_mlir.pipelines.iree_types import single_threaded
from serenity_mlir.pipelines.lower import with_alignment
from serenity_mlir.pipelines.scratch import VARIABLE
from serenity_mlir.report import Footprint, Memory, Report
from serenity_mlir.sizes import size_text

_C_KEYWORDS = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short",
    "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned",
    "void", "volatile", "while",
}  # fmt: skip
# IREE's own default, which code generation assumes of every buffer.
_ALIGNMENT = 64
# Multiply-accumulates that take as long as one more dispatch, which is a call of a function (decision 0105).
_CALL = 540.0
_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-link-embedded=false",
    "--iree-llvmcpu-link-static",
    "--iree-llvmcpu-debug-symbols=false",
)


@dataclass(frozen=True)
class Firmware:
    """A library that is ready to be written.

    Attributes:
        files: Contents by path in the library's folder.
        report: Figures; `slab` and `ram` are the arena of the emitted program.
    """

    files: dict[str, bytes]
    report: Report


def identifier(name: str | None, model: Path) -> str:
    """The C identifier that a library's names begin with: `--name`, else the model's stem made one.

    Raises:
        UsageError: `name` is no identifier of C.
    """
    if name is not None:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name in _C_KEYWORDS:
            raise UsageError(f"--name {name} is no C identifier", hint="letters, digits, _; a letter first")
        return name
    made = re.sub(r"[^A-Za-z0-9_]", "_", model.stem)
    made = made if made[:1].isalpha() else f"model_{made}"
    return f"{made}_" if made in _C_KEYWORDS else made


def build_firmware(
    model: Path,
    options: CompileOptions,
    name: str,
    compiler: Callable[[Path, CompileOptions], Compiled],
) -> Firmware:
    """Compile a model to a firmware library.

    Args:
        model: The file.
        options: What to make of it; `emit` and `phase` are not looked at, `target` is a firmware target.
        name: C identifier.
        compiler: `compile_model`, or a search around it.

    Raises:
        SerenityError: The model, the flags or the program are at fault: what firmware cannot hold
            is named.
    """
    target = firmware_target(options.target)
    if not options.stream.arena:
        raise UsageError("firmware has the planned arena only", hint="leave out --no-arena")
    external = options.stream.io == "external"
    # Where there is a folder that outlives a crash of the compiler and is removed then, it is in that.
    scratch = os.environ.get(VARIABLE) or None
    with tempfile.TemporaryDirectory(prefix="serenity-", dir=scratch) as folder:
        path = Path(folder, f"{name}.o")
        flags = [
            *_FLAGS,
            *target.flags,
            *options.iree_flags,
            f"--iree-llvmcpu-static-library-output-path={path}",
        ]
        stream = with_alignment(options.stream, flags)
        stream = replace(
            stream,
            place=True,
            register_tiles=target.register_tiles,
            soft_floats=target.linkage.float_abi == "soft",
        )
        compiled = compiler(
            model,
            replace(
                options,
                emit="mlir",
                phase="hal",
                target=target.name,
                iree_flags=flags,
                rewrite=replace(options.rewrite, dispatch=_CALL),
                stream=stream,
                symbol=name,
            ),
        )
        if not path.exists():
            raise SerenityError(
                "IREE made no object: the model fills and copies, and computes nothing", file=str(model)
            )
        data = path.read_bytes()
    if compiled.report is None or compiled.stream is None:
        raise RuntimeError("phase hal makes a report")
    found = read_object(data, file=str(model))
    with single_threaded(compiled.program.session.context):
        entries = walk(compiled.program.module, file=str(model))
        arenas = None if external else compiled.stream.arenas
        if arenas is not None and compiled.stream.whole is None and any(item.commands for item in entries):
            raise SerenityError(
                "inputs and outputs have no place in one arena with the rest",
                file=str(model),
                hint="--io external leaves them to the caller",
            )
        program = place(entries, compiled.source, arenas=arenas, alignment=stream.alignment or _ALIGNMENT)
    program = with_quantisation(program, compiled.source)
    check_object(found, target, file=str(model))
    library = Library(name, model.name, target.name, external, program, found)
    header, source = emit_header(library), emit_source(library)
    measured = measure(library, header, source, data, target)
    report = _report(compiled.report, library, measured, target.board)
    own = {f"include/{name}.h": header.encode(), f"src/{name}.c": source.encode(), f"lib/{name}.o": data}
    files = library_files(library, target, own, measured=measured, report=report, stream=compiled.stream)
    return Firmware(files, report)


def _report(report: Report, library: Library, measured: Measured, board: Board | None) -> Report:
    """The figures of the emitted program: its arena is what there is, nothing allocates."""
    memory, arena = report.memory, library.program.arena_bytes
    outside = (memory.inputs or 0) + (memory.outputs or 0) if library.external else 0
    final = memory.final if memory.final.arena == arena else Footprint(memory.final.peak, arena)
    weights = sum(map(len, library.program.weights))
    changed = msgspec.structs.replace(
        memory,
        final=final,
        slab=arena,
        ram=arena + outside,
        weights=weights,
        code=sum(library.object.sections.values()),
        stack=measured.stack,
        flash=None if measured.linked is None else measured.linked.flash,
        optimal=memory.optimal and memory.lower_bound == arena,
    )
    warnings = [] if board is None else _warnings(changed, measured, board)
    return msgspec.structs.replace(report, memory=changed, warnings=[*report.warnings, *warnings])


def _warnings(memory: Memory, measured: Measured, board: Board) -> list[str]:
    """What was not measured, and what the target's board has not."""
    out = []
    if measured.unknown:
        what = "flash, and the stack" if measured.linked is None else "the stack"
        out.append(f"{what} of a call: not measured, as {measured.unknown}")
    for what, needed, has in (
        ("arena and stack take", (memory.slab or 0) + (memory.stack or 0), board.ram),
        ("flash takes", memory.flash or 0, board.flash),
    ):
        if needed > has:
            out.append(f"{what} {size_text(needed)}, the board {board.name} has {size_text(has)}")
    return out
