"""minimalloc's CSV interchange: `id,lower,upper,size[,offset]`, one buffer a line.

`lower` is the first step at which a buffer is live, `upper` the step after the last one. Other
names that minimalloc reads are read too: `buffer` and `buffer_id` for `id`, `begin` and `start`
for `lower`, and `end` for the last step at which a buffer is live, hence `upper` - 1. Its columns
`alignment` and `gaps` change the problem, so they are refused rather than dropped. Spaces around
a field are no part of it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from serenity_mlir.errors import SerenityError
from serenity_mlir.liveness import Slice
from serenity_mlir.sizes import counted

REQUIRED = ("id", "lower", "upper", "size")
OFFSET = "offset"
END = "end"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DIGITS = 100
"""Far beyond any memory; Python itself refuses to read integers of some thousands."""

ALIASES = {"buffer": "id", "buffer_id": "id", "begin": "lower", "start": "lower", END: "upper"}


@dataclass(frozen=True, slots=True)
class Record:
    """One line: a buffer's name, its slice, and its offset where the file gives one."""

    name: str
    slice: Slice
    offset: int | None = None


def read_csv(path: Path) -> list[Record]:
    """The buffers that a minimalloc CSV file lists, in its order.

    Raises:
        SerenityError: naming file and line, if the file cannot be read, a column is missing,
            unknown or repeated, fields are not separated by commas, a field is no integer, a range
            or size is negative, or two buffers have one id.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _read(stream, str(path))
    except OSError as error:
        raise SerenityError(
            f"cannot be read: {error.strerror}",
            file=str(path),
            hint="check the path; `serenity analyze --csv` writes one",
        ) from error
    except UnicodeDecodeError as error:
        raise SerenityError("is not UTF-8 text", file=str(path)) from error
    except csv.Error as error:
        raise SerenityError(f"is no CSV: {error}", file=str(path)) from error


def to_csv(records: Sequence[Record]) -> str:
    """The text of `records` as minimalloc writes it, with the `offset` column if all of them have one.

    Raises:
        ValueError: if only some records have an offset.
    """
    placed = [record.offset is not None for record in records]
    if any(placed) and not all(placed):
        raise ValueError("some records have an offset and some have none")
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*REQUIRED, OFFSET] if any(placed) else REQUIRED)
    for record in records:
        item = record.slice
        fields = [record.name, item.start, item.end, item.size]
        writer.writerow(fields if record.offset is None else [*fields, record.offset])
    return stream.getvalue()


def _read(stream: TextIO, file: str) -> list[Record]:
    reader = csv.reader(stream)
    given = [column.strip() for column in next(reader, [])]
    columns = [ALIASES.get(column, column) for column in given]
    _check_columns(columns, file)
    records: list[Record] = []
    lines: dict[str, int] = {}
    for fields in reader:
        row = [field.strip() for field in fields]
        if row in ([], [""]):
            continue
        where = f"line {reader.line_num}"
        if len(row) != len(columns):
            raise SerenityError(
                f"{counted(len(row), 'field')} for {counted(len(columns), 'column')}", file=file, where=where
            )
        record = _record(dict(zip(columns, row, strict=True)), 1 if END in given else 0, file, where)
        first = lines.setdefault(record.name, reader.line_num)
        if first != reader.line_num:
            raise SerenityError(
                f"id {record.name!r} is that of line {first} already",
                file=file,
                where=where,
                hint="give each buffer an id of its own",
            )
        records.append(record)
    return records


def _record(row: dict[str, str], after: int, file: str, where: str) -> Record:
    """The buffer of one line; `after` is how many steps after its column `upper` it ends."""
    lower, upper, size = (_integer(row, column, file, where) for column in REQUIRED[1:])
    upper += after
    if upper < lower:
        raise SerenityError(f"upper {upper} is before lower {lower}", file=file, where=where)
    if size < 0:
        raise SerenityError(f"size {size} is negative", file=file, where=where)
    offset = _integer(row, OFFSET, file, where) if OFFSET in row else None
    return Record(row["id"], Slice(lower, upper, size), offset)


def _check_columns(columns: Sequence[str], file: str) -> None:
    hint = "the first line must be id,lower,upper,size or id,lower,upper,size,offset, in any order"
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(columns) == 1 and separator in columns[0]:
            raise SerenityError(
                f"fields are separated by {name}, not by commas", file=file, where="line 1", hint=hint
            )
    for column in REQUIRED:
        if column not in columns:
            raise SerenityError(f"there is no column {column!r}", file=file, where="line 1", hint=hint)
    for column in columns:
        if column not in (*REQUIRED, OFFSET):
            raise SerenityError(f"unknown column {column!r}", file=file, where="line 1", hint=hint)
        if columns.count(column) > 1:
            raise SerenityError(f"column {column!r} is repeated", file=file, where="line 1", hint=hint)


def _integer(row: dict[str, str], column: str, file: str, where: str) -> int:
    text = row[column]
    if not _INTEGER.fullmatch(text):  # `int` would take "1_0" and other scripts' digits too
        raise SerenityError(f"{column} {text!r} is not an integer", file=file, where=where)
    if len(text) > _DIGITS:
        raise SerenityError(f"{column} has more than {_DIGITS} digits", file=file, where=where)
    return int(text)
