"""What there is to do: a folder of models, or a manifest that lists them.

A manifest is JSON, a list of entries; relative paths start at its folder:

    [{"model": "a.onnx"},
     {"model": "nets/b.mlir", "target": "riscv64", "options": ["--time-limit", "30"]}]

An entry without a target is for each target of the command line; its options come after those of
the command line, and so win.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.pipelines.batch.task import Options, Task
from serenity_mlir.pipelines.targets import target as check_target

MANIFEST = ".json"
_MODELS = (".onnx", ".mlir", ".mlirbc")
_EXAMPLE = '[{"model": "a.onnx", "target": "host", "options": ["--time-limit", "30"]}]'


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model of a manifest."""

    model: str
    target: str | None = None
    options: tuple[str, ...] = ()


def tasks_of(source: Path, targets: Sequence[str], options: Callable[[Sequence[str]], Options]) -> list[Task]:
    """The tasks that a folder, a manifest or a model stands for, each once.

    Args:
        source: The folder, the manifest (`.json`), or one model.
        targets: Those of the command line.
        options: Makes the options of a task of an entry's own, in the form in which tasks keep them.

    Raises:
        UsageError: The manifest is no manifest, or an entry of it is wrong.
        SerenityError: The source cannot be read, or there is no model in it.
    """
    for name in targets:
        check_target(name)
    try:
        entries = _entries(source)
    except OSError as error:
        raise SerenityError(f"cannot be read: {error.strerror}", file=str(source)) from error
    tasks: dict[Task, None] = {}
    for number, entry in enumerate(entries):
        try:
            if entry.target is not None:
                check_target(entry.target)
            own = options(entry.options)
        except UsageError as error:
            where = f"entry {number}, '{entry.model}'"
            raise UsageError(error.message, file=str(source), where=where, hint=error.hint) from error
        for name in targets if entry.target is None else [entry.target]:
            tasks[Task(entry.model, name, own)] = None
    return list(tasks)


def _entries(source: Path) -> list[Entry]:
    if source.is_dir():
        found = sorted(path for path in source.iterdir() if path.suffix.lower() in _MODELS and path.is_file())
        if not found:
            raise SerenityError(
                f"there is no model in this folder: no file ends in {', '.join(_MODELS)}", file=str(source)
            )
        return [Entry(str(path)) for path in found]
    if source.suffix.lower() != MANIFEST:
        return [Entry(str(source))]
    try:
        entries = msgspec.json.decode(source.read_bytes(), type=list[Entry])
    except msgspec.DecodeError as error:
        raise UsageError(f"is no manifest: {error}", file=str(source), hint=f"one is {_EXAMPLE}") from error
    if not entries:
        raise SerenityError("the manifest lists no model", file=str(source), hint=f"one is {_EXAMPLE}")
    return [
        msgspec.structs.replace(entry, model=os.path.join(source.parent, entry.model)) for entry in entries
    ]
