"""The static scheme from a model, samples and budgets to a trained and pruned model, measured and proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.pipelines.reform.calibration import Calibration, read_calibration
from serenity_mlir.pipelines.reform.onnx_network import rebuilt
from serenity_mlir.pipelines.reform.subject import Subject
from serenity_mlir.pipelines.reform.train.extra import require_torch
from serenity_mlir.reform.budgets import COMPILED, Amount, Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.profile import DEFAULT_PROFILE, profile
from serenity_mlir.reform.report import Missed

if TYPE_CHECKING:
    import onnx

    from serenity_mlir.pipelines.reform.train.static import Samples, StaticOptions, StaticResult
    from serenity_mlir.report import Verification


@dataclass(frozen=True)
class StaticFiles:
    """What the static scheme reads and keeps.

    Attributes:
        model: An ONNX model, a classifier.
        samples: An NPZ file to train on: an array for each input, and `labels`.
        test: Another to measure accuracy on; the same one where there is none.
    """

    model: Path
    samples: Path
    test: Path | None = None


@dataclass(frozen=True, eq=False)
class StaticallyPruned:
    """A trained and pruned model.

    Attributes:
        model: Ordinary ONNX.
        result: How the training went.
        before: What the unpruned model takes.
        measured: What the pruned one takes.
        missed: Budgets that do not hold in it.
        proof: The pruned network beside the trained, masked one, on training samples.
    """

    model: onnx.ModelProto
    result: StaticResult
    before: Mapping[Kind, float]
    measured: Mapping[Kind, float]
    missed: tuple[Missed, ...]
    proof: Verification


def prune_statically(
    files: StaticFiles,
    budgets: Mapping[Kind, Amount],
    options: StaticOptions,
    *,
    device: str = DEFAULT_PROFILE,
    progress: Callable[[str], None] = lambda _stage: None,
) -> StaticallyPruned:
    """Trains gates into the budgets, removes closed channels, and proves what is left.

    Args:
        files: Model and samples.
        budgets: Of multiply-accumulates, memory, energy or latency.
        options: Of the training.
        device: The profile, by name or file.
        progress: Told of each step.

    Raises:
        UsageError: A budget is on what only a compiled model has.
        SerenityError: PyTorch is not installed, or the model or the samples are at fault.
        CheckFailed: The pruned network is not equal to the masked one: our fault.
    """
    compiled = [kind for kind in budgets if kind in COMPILED]
    if compiled:
        raise UsageError(
            f"--static trains into formulae, and --budget-{compiled[0]} is measured on a compiled model",
            hint="budget --budget-memory, or prune the result further without --static",
        )
    require_torch("--static")
    from serenity_mlir.pipelines.reform.train.static import StaticProblem, prune_static  # noqa: PLC0415

    subject = Subject.read(files.model, profile(device))
    data = read_calibration(files.samples, subject.inputs)
    samples = _labelled(data, files.samples)
    test = samples
    if files.test is not None:
        test = _labelled(read_calibration(files.test, subject.inputs), files.test)
    costs = CostModel(subject.network, subject.profile, subject.groups)
    before = subject.made({}).measured
    limits = {kind: amount.of(before[kind]) for kind, amount in budgets.items()}
    problem = StaticProblem(
        subject.network,
        subject.groups,
        costs,
        dict(limits),
        samples,
        test,
    )
    result = prune_static(problem, options, progress=progress)
    trained = replace(subject, model=rebuilt(subject.model, result.network), network=result.network)
    progress("prove")
    made = trained.made(result.keep)
    missed = tuple(
        Missed(kind, limit, made.measured[kind])
        for kind, limit in limits.items()
        if made.measured[kind] > limit
    )
    return StaticallyPruned(made.model, result, before, made.measured, missed, trained.prove(made, data))


def _labelled(data: Calibration, path: Path) -> Samples:
    from serenity_mlir.pipelines.reform.train.static import Samples  # noqa: PLC0415  (an extra)

    if data.labels is None:
        raise SerenityError(
            "has no labels, and training needs the class of each sample",
            file=str(path),
            hint="add an array `labels`, or prune without --static",
        )
    return Samples(data.inputs, data.labels)
