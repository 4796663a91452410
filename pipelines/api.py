"""What programs call on models: `analyze`, `compile`, `prune`. `serenity_mlir` itself gives them out.

Each call is a command line in a process of its own, so that native code that crashes ends in an exception,
and flags that IREE takes once a process do not outlive the call. The keywords are the command's options.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack

import msgspec

from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.api_results import CompiledModel, PrunedModel, files_under
from serenity_mlir.pipelines.cli.batch import is_batch
from serenity_mlir.pipelines.cli.captured import run_captured, scratch_folder
from serenity_mlir.reform.report import PruneReport, read_prune_report
from serenity_mlir.report import Report, read_report

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnx

    from serenity_mlir.reform.budgets import Kind

__all__ = ["AnalyzeOptions", "CompiledModel", "PruneOptions", "PrunedModel", "analyze", "compile", "prune"]

PathName: TypeAlias = "str | os.PathLike[str]"
Model: TypeAlias = "PathName | onnx.ModelProto"

_Report = TypeVar("_Report", Report, PruneReport)


class AnalyzeOptions(TypedDict, total=False):
    """Options of `serenity analyze` and `serenity compile`, and IREE's own flags.

    Attributes:
        target: Where to run: `generic`, `host`, a board of `pipelines/firmware/boards`, …
        io: Who owns inputs and outputs: callers ("external"), or the one arena.
        search: Try several ways in which IREE may form dispatches.
        objective: Whether rewrites may slow an inference by a tenth at most, or at any price.
        exact: Only rewrites that leave results bit-identical.
        no_rewrite: Leave the model's ops as they are.
        no_regions: Leave it to IREE what runs in one dispatch.
        no_schedule: Keep the order of the file.
        no_arena: Leave the packing to IREE.
        method: How orders are looked for: a name of `serenity_mlir.schedulers.METHODS`.
        time_limit: Seconds for an order and its arena.
        rewrite_limit: Seconds of processor time for the choice of rewrites.
        compare_stock: Also measure what stock IREE allocates.
        iree_flags: iree-compile's own flags.
    """

    target: str
    io: Literal["external", "arena"]
    search: Literal["fusion"]
    objective: Literal["balanced", "memory"]
    exact: bool
    no_rewrite: bool
    no_regions: bool
    no_schedule: bool
    no_arena: bool
    method: str
    time_limit: float
    rewrite_limit: float
    compare_stock: bool
    iree_flags: Sequence[str]


class PruneOptions(TypedDict, total=False):
    """Options of `serenity prune`.

    Attributes:
        method: Which channels go: by priority indicator, or by a baseline.
        profile: Energy of an operation, the processor's rate: a name, or a file.
        seed: Of method "random".
        target: What RAM and ROM are compiled for.
        io: Whether the arena holds inputs and outputs.
    """

    method: Literal["pi", "magnitude", "random"]
    profile: str
    seed: int
    target: str
    io: Literal["external", "arena"]


def analyze(model: Model, **options: Unpack[AnalyzeOptions]) -> Report:
    """Predict what a model needs, without code generation.

    Args:
        model: A file that ends in .onnx, .mlir or .mlirbc, or an ONNX model.
        options: See `AnalyzeOptions`.

    Returns:
        The report, sizes in bytes, with the course of memory step by step.

    Raises:
        SerenityError: The model cannot be compiled; the message names the node and a way out.
        UsageError: An option has no such value, or two exclude one another.
    """
    with _call(model) as call:
        call.run("analyze", ["--json", str(call.report), "--timeline", *_spelled(options)], options)
        return call.renamed(read_report(call.report))


def compile(  # noqa: A001, PLR0913  (serenity_mlir.compile, whose keywords are the command's options)
    model: Model,
    *,
    emit: Literal["vmfb", "mlir", "firmware"] = "vmfb",
    name: str | None = None,
    verify: bool = False,
    budget_ram: int | None = None,
    budget_rom: int | None = None,
    **options: Unpack[AnalyzeOptions],
) -> CompiledModel:
    """Compile a model; nothing is written until the result is saved.

    Args:
        model: A file that ends in .onnx, .mlir or .mlirbc, or an ONNX model.
        emit: A module for IREE's runtime, IR from which `iree-compile --compile-from=stream` goes on, or a C
            library for a microcontroller.
        name: What the C names of a library begin with; by default the name of the model's file.
        verify: Run the module beside onnxruntime, or else onnx.reference.
        budget_ram: Bytes of RAM that it may take.
        budget_rom: Bytes of weights, and of a library's code, likewise.
        options: See `AnalyzeOptions`.

    Raises:
        SerenityError: The model cannot be compiled, or its results are not those of the reference.
        BudgetExceeded: It is larger than a budget; the message names what is live at the peak.
        UsageError: An option has no such value, or two exclude one another.
    """
    own = {"emit": emit, "name": name, "verify": verify, "budget_ram": budget_ram, "budget_rom": budget_rom}
    with _call(model) as call:
        made = call.scratch / ("firmware" if emit == "firmware" else f"model.{emit}")
        written = ["-o", str(made), "--report", str(call.report), "--timeline"]
        call.run("compile", [*written, *_spelled(own), *_spelled(options)], options)
        return CompiledModel(emit, call.renamed(read_report(call.report)), files_under(made))


def prune(
    model: Model,
    calibration: PathName | Mapping[str, npt.ArrayLike],
    budgets: Mapping[Kind, float | str],
    **options: Unpack[PruneOptions],
) -> PrunedModel:
    """Remove channels of an ONNX model until all budgets hold.

    Args:
        model: A file that ends in .onnx, or an ONNX model.
        calibration: An NPZ file, or arrays: one for each input, samples first, and perhaps `labels`.
        budgets: For each kind of resource a number in its unit, or a share of what the model takes: "50%".
        options: See `PruneOptions`.

    Raises:
        SerenityError: The model or the samples are at fault.
        BudgetExceeded: A budget cannot be met; the message says how near it came.
        UsageError: A budget or an option has no such value.
    """
    limits = {f"budget_{kind}": str(amount) for kind, amount in budgets.items()}
    with _call(model) as call:
        made, data = call.scratch / "pruned.onnx", _samples(calibration, call.scratch)
        written = ["-o", str(made), "--report", str(call.report), "--calibration", str(data)]
        call.run("prune", [*written, *_spelled(limits), *_spelled(options)], {})
        report = read_prune_report(call.report)
        return PrunedModel(call.renamed(report), made.read_bytes())


@dataclass(frozen=True, slots=True)
class _Call:
    """One command line on one model.

    Attributes:
        path: The model's file.
        named: What people call it: an ONNX model in memory has a file in the scratch folder only.
        scratch: Where all that is made lies until it is read back.
    """

    path: Path
    named: str
    scratch: Path

    @property
    def report(self) -> Path:
        """Where the command writes its report."""
        return self.scratch / "report.json"

    def run(self, command: str, arguments: Sequence[str], options: Mapping[str, Any]) -> None:
        """Run it; what it ends with is raised here."""
        flags = options.get("iree_flags", ())
        failure = run_captured([command, *arguments, "--", str(self.path), *flags], self.scratch)
        if failure is not None:
            error = failure.error()
            error.file = self.named if error.file == str(self.path) else error.file
            raise error

    def renamed(self, report: _Report) -> _Report:
        """The report under the name that people know."""
        return msgspec.structs.replace(report, model=msgspec.structs.replace(report.model, path=self.named))


@contextmanager
def _call(model: Model) -> Iterator[_Call]:
    with scratch_folder() as scratch:
        if isinstance(model, str | os.PathLike):
            path = Path(model)
            if is_batch(path, ()):
                raise UsageError(
                    "these are many models", file=str(path), hint="name one, or run `serenity analyze`"
                )
            yield _Call(path, str(path), scratch)
        else:
            path = scratch / "model.onnx"
            _write(model, path)
            yield _Call(path, f"<{model.graph.name or 'onnx.ModelProto'}>", scratch)


def _write(model: onnx.ModelProto, path: Path) -> None:
    import onnx  # noqa: PLC0415  (heavy, and loaded already by whoever has such a model)
    from google.protobuf.message import EncodeError  # noqa: PLC0415  (comes with onnx)

    if not isinstance(model, onnx.ModelProto):
        raise TypeError(f"a model is a path or an onnx.ModelProto, not {type(model).__name__}")
    try:
        onnx.save(model, path)
    except (EncodeError, ValueError) as error:
        raise UsageError(
            f"the model cannot be handed over: {error}",
            hint="save it with onnx.save(model, PATH, save_as_external_data=True), and name that file",
        ) from error


def _spelled(options: Mapping[str, Any]) -> list[str]:
    """Options as on a command line; what is None or False is left out."""
    spelled: list[str] = []
    for name, value in options.items():
        if name != "iree_flags" and value is not None and value is not False:
            option = f"--{name.replace('_', '-')}"
            spelled.append(option if value is True else f"{option}={value}")
    return spelled


def _samples(calibration: PathName | Mapping[str, npt.ArrayLike], scratch: Path) -> Path:
    if isinstance(calibration, str | os.PathLike):
        return Path(calibration)
    import numpy as np  # noqa: PLC0415  (heavy)

    path = scratch / "calibration.npz"
    arrays: Mapping[str, Any] = {name: np.asarray(samples) for name, samples in calibration.items()}
    np.savez(path, **arrays)
    return path
