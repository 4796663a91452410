"""`metadata.json`: what a library holds, for programs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from serenity_mlir import __version__
from serenity_mlir.pipelines.firmware.arena_map import Placed, arena_map
from serenity_mlir.pipelines.firmware.emit_c import Library, prefix
from serenity_mlir.pipelines.firmware.helpers import HELPERS
from serenity_mlir.pipelines.firmware.linked import Measured
from serenity_mlir.pipelines.firmware.object_file import LIBRARY_VERSION
from serenity_mlir.pipelines.firmware.program import Tensor
from serenity_mlir.pipelines.lower_stream import StreamResult
from serenity_mlir.report import Report

FORMAT = "serenity-firmware"
FILE = "metadata.json"


class TensorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """An input or output; `arena_offset` is None where the caller owns it."""

    name: str
    shape: list[int]
    dtype: str
    bytes: int
    arena_offset: int | None
    scale: float | None = None
    zero_point: int | None = None


class EntryInfo(msgspec.Struct, frozen=True):
    """An exported function and the prefix of its C names."""

    name: str
    prefix: str
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    commands: int


class LinkedInfo(msgspec.Struct, frozen=True):
    """Bytes of flash in a program of the library alone, and what linked it: from the linker's map.

    `source` is the generated source's code and tables, without its weights.
    """

    object: int
    source: int
    libraries: int
    compiler: str
    flags: list[str]


class MemoryInfo(msgspec.Struct, frozen=True):
    """Bytes: `ram` is arena, stack and workgroup memory; `rom` weights, code and tables as they were linked.

    What was not measured is None, and `not_measured` says why. `sections` are those of the object before it
    is linked.
    """

    ram: int | None
    rom: int | None
    arena: int
    stack: int | None
    workgroup: int
    alignment: int
    io: str
    weights: int
    linked: LinkedInfo | None
    not_measured: str
    sections: dict[str, int]


class SymbolInfo(msgspec.Struct, frozen=True):
    """Functions that the object calls: from libraries, or defined weakly in the source.

    `unreachable` are those that only functions need which nothing calls.
    """

    libraries: list[str]
    source: list[str]
    unreachable: list[str]


class Metadata(msgspec.Struct, frozen=True):
    """The file as a whole; checksums are SHA-256."""

    format: str
    format_version: int
    name: str
    model: str
    model_sha256: str
    target: str
    serenity_version: str
    iree_version: str
    library_version: int
    memory: MemoryInfo
    entries: list[EntryInfo]
    arena_map: list[Placed]
    symbols: SymbolInfo
    files: dict[str, str]


def metadata(
    library: Library, measured: Measured, report: Report, stream: StreamResult, files: Mapping[str, bytes]
) -> Metadata:
    """The metadata of a library with these files."""
    program, found = library.program, library.object
    return Metadata(
        format=FORMAT,
        format_version=1,
        name=library.name,
        model=library.model,
        model_sha256=report.model.sha256,
        target=library.target,
        serenity_version=__version__,
        iree_version=report.iree_version,
        library_version=LIBRARY_VERSION,
        memory=_memory(library, measured),
        entries=[
            EntryInfo(
                item.name,
                prefix(library, item),
                [_tensor(tensor) for tensor in item.inputs],
                [_tensor(tensor) for tensor in item.outputs],
                len(item.commands),
            )
            for item in program.entries
        ],
        arena_map=arena_map(stream, report.timeline),
        symbols=SymbolInfo(
            [name for name in found.needed if name not in HELPERS],
            [name for name in found.needed if name in HELPERS],
            sorted(set(found.undefined) - set(found.needed)),
        ),
        files={path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())},
    )


def _memory(library: Library, measured: Measured) -> MemoryInfo:
    program, found, linked = library.program, library.object, measured.linked
    weights = sum(map(len, program.weights))
    workgroup = max((found.exports[name].local_memory for name in program.exports), default=0)
    return MemoryInfo(
        ram=None if measured.stack is None else program.arena_bytes + measured.stack + workgroup,
        rom=None if linked is None else linked.flash,
        arena=program.arena_bytes,
        stack=measured.stack,
        workgroup=workgroup,
        alignment=program.alignment,
        io="external" if library.external else "arena",
        weights=weights,
        linked=None
        if linked is None
        else LinkedInfo(
            linked.object, linked.source - weights, linked.libraries, linked.compiler, list(linked.flags)
        ),
        not_measured=measured.unknown,
        sections=found.sections,
    )


def _tensor(tensor: Tensor) -> TensorInfo:
    span = tensor.span
    return TensorInfo(
        name=tensor.name,
        shape=list(tensor.shape),
        dtype=tensor.dtype,
        bytes=span.length,
        arena_offset=span.offset if span.kind == "arena" else None,
        scale=tensor.scale,
        zero_point=tensor.zero_point,
    )
