"""What `compile` and `prune` return: the artefact as bytes, and the report on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.cli.outputs import check_outputs, write_outputs
from serenity_mlir.presented import Presented
from serenity_mlir.reform.report import PruneReport
from serenity_mlir.report import Report

if TYPE_CHECKING:
    import os

    import onnx

    from serenity_mlir.views.rows import Table


class _Reported(Presented):
    """A result that shows itself as its report does."""

    report: Report | PruneReport

    def to_json(self) -> bytes:
        """The report as indented JSON."""
        return self.report.to_json()

    def shown_tables(self) -> Sequence[Table]:
        """See `Presented`."""
        return self.report.shown_tables()


@dataclass(frozen=True, eq=False, repr=False)
class CompiledModel(_Reported):
    """A compiled model.

    Attributes:
        emit: What it was compiled to.
        report: Its figures.
        files: Its files by name, as bytes; a library has several, all else one.
    """

    emit: Literal["vmfb", "mlir", "firmware"]
    report: Report
    files: Mapping[str, bytes]

    @property
    def data(self) -> bytes:
        """The module for IREE's runtime, or the IR.

        Raises:
            UsageError: It is a library of several files.
        """
        if self.emit == "firmware":
            raise UsageError("a firmware library has several files", hint="look into `files`, or save it")
        (data,) = self.files.values()
        return data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, or a library's folder; whole or not at all.

        Raises:
            SerenityError: It cannot be written.
        """
        if self.emit == "firmware":
            from serenity_mlir.pipelines.firmware.write import write_folder  # noqa: PLC0415  (rarely needed)

            write_folder(Path(path), self.files)
        else:
            _write(Path(path), self.data)

    def __repr__(self) -> str:
        size = sum(map(len, self.files.values()))
        return f"<CompiledModel {self.report.model.path} as {self.emit}, {size:,} bytes>"


@dataclass(frozen=True, eq=False, repr=False)
class PrunedModel(_Reported):
    """A pruned model.

    Attributes:
        report: What it takes, what it lost, what could not leave.
        data: ONNX.
    """

    report: PruneReport
    data: bytes

    @property
    def model(self) -> onnx.ModelProto:
        """The model, ordinary ONNX."""
        import onnx  # noqa: PLC0415  (heavy)

        model = onnx.ModelProto()
        model.ParseFromString(self.data)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as ONNX; whole or not at all.

        Raises:
            UsageError: The name is that of a file of another kind.
            SerenityError: It cannot be written.
        """
        if (suffix := Path(path).suffix) in (".mlir", ".mlirbc", ".vmfb"):
            raise UsageError(
                f"a pruned model is ONNX, not {suffix}",
                hint="serenity_mlir.compile(pruned.model) goes on",
            )
        _write(Path(path), self.data)

    def __repr__(self) -> str:
        return f"<PrunedModel {self.report.model.path}, {len(self.data):,} bytes>"


def files_under(path: Path) -> dict[str, bytes]:
    """A file by its name, or all that lie in a folder."""
    if path.is_file():
        return {path.name: path.read_bytes()}
    found = sorted(item for item in path.rglob("*") if item.is_file())
    return {str(item.relative_to(path)): item.read_bytes() for item in found}


def _write(path: Path, data: bytes) -> None:
    check_outputs([path])
    write_outputs({path: data})
