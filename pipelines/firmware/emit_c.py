"""The C source and header of a firmware library, from its program and its object."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import jinja2

from serenity_mlir import __version__
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.firmware.helpers import HELPERS
from serenity_mlir.pipelines.firmware.object_file import LIBRARY_VERSION, ObjectFile
from serenity_mlir.pipelines.firmware.program import (
    Command,
    Copy,
    Dispatch,
    Entry,
    Fill,
    FirmwareProgram,
    Span,
    Tensor,
)

_T = TypeVar("_T")
_FILL, _COPY = 0xFFFF, 0xFFFE
_MOST = 0xFFFF  # of what a command counts in 16 bits
_WORDS_A_LINE = 8
_FILL_BYTES = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Library:
    """What a firmware library is made of.

    Attributes:
        name: C identifier that everything begins with.
        model: The model's file name.
        target: The target's name.
        external: Whether callers own inputs and outputs.
        program: What is run.
        object: What it is run from.
    """

    name: str
    model: str
    target: str
    external: bool
    program: FirmwareProgram
    object: ObjectFile


@dataclass(frozen=True, slots=True)
class _Row:
    what: int
    span: int
    spans: int
    word: int
    words: int
    x: int
    y: int
    z: int
    label: str


@dataclass
class _Table:
    """Spans and words of all commands; a run that is there already is used again."""

    spans: list[Span] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    most_spans: int = 1
    _runs: dict[tuple[object, ...], int] = field(default_factory=dict)

    def span(self, run: Sequence[Span]) -> int:
        """The position of `run` among the spans."""
        self.most_spans = max(self.most_spans, len(run))
        return self._placed(("span", *run), self.spans, run)

    def word(self, run: Sequence[int]) -> int:
        """The position of `run` among the words."""
        return self._placed(("word", *run), self.words, run)

    def _placed(self, key: tuple[object, ...], where: list[_T], run: Sequence[_T]) -> int:
        if key not in self._runs:
            self._runs[key] = len(where) if run else 0
            where.extend(run)
        return self._runs[key]


@dataclass(frozen=True)
class _Entry:
    prefix: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    rows: list[_Row]


def emit_header(library: Library) -> str:
    """`include/NAME.h`."""
    return _rendered("header.h.j2", library)


def emit_source(library: Library) -> str:
    """`src/NAME.c`.

    Raises:
        SerenityError: The object's functions are not those that the program calls, or the program is
            larger than the source's tables can say.
    """
    return _rendered("source.c.j2", library)


def prefix(library: Library, entry: Entry) -> str:
    """What an entry's names begin with: the library's name, and its own where it is not the only one."""
    if len(library.program.entries) == 1:
        return library.name
    return f"{library.name}_{re.sub('[^A-Za-z0-9_]', '_', entry.name)}"


def described(tensor: Tensor) -> str:
    """A tensor in one line: `serving_default_x:0: int8[1, 49, 10, 1], scale 0.58, zero point 83`."""
    text = f"{tensor.name}: {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"
    if tensor.scale is not None:
        text += f", scale {tensor.scale!r}, zero point {tensor.zero_point}"
    return text.replace("*/", "* /").replace("\n", " ")


def environment() -> jinja2.Environment:
    """Templates of everything that is written as text."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("serenity_mlir.pipelines.firmware"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (C and Markdown, never HTML)
    )


def _rendered(template: str, library: Library) -> str:
    program, table = library.program, _Table()
    _check_names(library)
    entries = [
        _Entry(
            prefix(library, entry),
            entry.inputs,
            entry.outputs,
            [_row(command, table, library.object) for command in entry.commands],
        )
        for entry in program.entries
    ]
    if max(len(table.spans), len(table.words)) > _MOST:
        raise SerenityError(f"the program has more than {_MOST} operands: too many for a firmware library")
    most_inputs = max(len(entry.inputs) for entry in entries) or 1
    most_outputs = max(len(entry.outputs) for entry in entries) or 1
    first = {"arena": 0, "weights": 1, "input": 1 + len(program.weights)}
    first["output"] = first["input"] + most_inputs
    templates = environment()
    templates.filters["described"] = described
    templates.filters["memory"] = lambda span: first[span.kind] + span.index
    return templates.get_template(template).render(
        name=library.name,
        model=library.model,
        target=library.target,
        version=__version__,
        external=library.external,
        program=program,
        entries=entries,
        table=table,
        most_inputs=most_inputs,
        most_outputs=most_outputs,
        weights=[_words(data) for data in program.weights],
        weights_bytes=sum(map(len, program.weights)),
        query=library.object.query,
        function_count=len(library.object.exports),
        library_version=LIBRARY_VERSION,
        helpers=[HELPERS[name] for name in library.object.needed if name in HELPERS],
    )


def _check_names(library: Library) -> None:
    names = [prefix(library, entry) for entry in library.program.entries]
    for name, count in Counter(names).items():
        if count > 1:
            alike = [entry.name for entry in library.program.entries if prefix(library, entry) == name]
            raise SerenityError(
                f"the functions {', '.join(alike)} have one name in C, {name}", hint="rename one of them"
            )


def _row(command: Command, table: _Table, found: ObjectFile) -> _Row:
    if isinstance(command, Fill):
        if len(command.pattern) not in _FILL_BYTES:
            raise SerenityError(f"firmware cannot fill with a pattern of {len(command.pattern)} bytes")
        pattern = int.from_bytes(command.pattern, "little")
        span = table.span([command.target])
        return _Row(_FILL, span, 1, 0, 0, pattern, len(command.pattern), 1, "fill")
    if isinstance(command, Copy):
        return _Row(_COPY, table.span([command.source, command.target]), 2, 0, 0, 1, 1, 1, "copy")
    _check_call(command, found)
    span, word = table.span(command.bindings), table.word(command.constants)
    x, y, z = command.workgroups
    label = "".join(c if c.isalnum() or c in "$_" else "_" for c in command.export)
    counts = len(command.bindings), len(command.constants)
    return _Row(found.exports[command.export].ordinal, span, counts[0], word, counts[1], x, y, z, label)


def _check_call(command: Dispatch, found: ObjectFile) -> None:
    export = found.exports.get(command.export)
    if export is None:
        raise SerenityError(f"the object has no function {command.export}")
    if (export.constants, export.bindings) != (len(command.constants), len(command.bindings)):
        raise SerenityError(
            f"{command.export} takes {export.constants} words and {export.bindings} memories, but is given "
            f"{len(command.constants)} and {len(command.bindings)}"
        )
    if export.local_memory:
        raise SerenityError(
            f"{command.export} wants {export.local_memory} bytes of workgroup memory, which firmware has not",
            hint="--iree-llvmcpu-stack-allocation-limit, larger, keeps them on the stack",
        )
    if command.workgroups[2] > _MOST:
        raise SerenityError(f"{command.export} runs {command.workgroups[2]} workgroups along z")


def _words(data: bytes) -> str:
    """Little-endian words of C, the last one padded with zeros."""
    padded = data + bytes(-len(data) % 4)
    words = [f"0x{int.from_bytes(padded[i : i + 4], 'little'):08x}" for i in range(0, len(padded), 4)]
    lines = (words[i : i + _WORDS_A_LINE] for i in range(0, len(words), _WORDS_A_LINE))
    return "\n".join(f"  {','.join(line)}," for line in lines)
