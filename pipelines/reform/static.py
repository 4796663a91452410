"""The static scheme from a model, samples and budgets to a trained and pruned model, measured and proven."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.pipelines.reform.calibration import Calibration, read_calibration
from serenity_mlir.pipelines.reform.judge import MEANING
from serenity_mlir.pipelines.reform.onnx_network import rebuilt
from serenity_mlir.pipelines.reform.prune import Pruned, PrunedVariant, figures_of
from serenity_mlir.pipelines.reform.subject import Made, Subject
from serenity_mlir.pipelines.reform.train.extra import require_torch
from serenity_mlir.reform import report as reports
from serenity_mlir.reform.budgets import COMPILED, Amount, Budgets, Kind
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.profile import DEFAULT_PROFILE, profile
from serenity_mlir.report import ModelInfo
from serenity_mlir.sizes import counted

if TYPE_CHECKING:
    from serenity_mlir.pipelines.compile import CompileOptions
    from serenity_mlir.pipelines.reform.train.static import Samples, StaticOptions, StaticResult
    from serenity_mlir.report import Verification


@dataclass(frozen=True)
class StaticFiles:
    """What the static scheme reads.

    Attributes:
        model: An ONNX model, a classifier.
        samples: An NPZ file to train on: an array for each input, and `labels`.
        test: Another to measure accuracy on; the same one where there is none.
    """

    model: Path
    samples: Path
    test: Path | None = None


@dataclass(frozen=True, eq=False)
class _Outcome:
    subject: Subject
    result: StaticResult
    made: Made
    proof: Verification
    counted: tuple[int, int]
    """Samples that were trained on, and that accuracy was measured on."""


def prune_statically(  # noqa: PLR0913  (files, budgets, how)
    files: StaticFiles,
    budgets: Mapping[Kind, Amount],
    options: StaticOptions,
    *,
    device: str = DEFAULT_PROFILE,
    compiling: CompileOptions | None = None,
    progress: Callable[[str, float], None] = lambda _stage, _share: None,
) -> Pruned:
    """Trains gates into the budgets, removes closed channels, and proves what is left.

    Args:
        files: Model and samples.
        budgets: Of multiply-accumulates, memory, energy or latency.
        options: Of the training.
        device: The profile, by name or file.
        compiling: How the result is compiled, where it is.
        progress: Told of each step, and of what share of its stage is done.

    Returns:
        One variant. Its score is accuracy, as all training is for; `path` has the unpruned model, the masked
        one before its last training, and the variant.

    Raises:
        UsageError: A budget is on what only a compiled model has.
        SerenityError: PyTorch is not installed, or the model or the samples are at fault.
        CheckFailed: The pruned network is not equal to the masked one: our fault.
    """
    began = perf_counter()
    for kind in budgets:
        if kind in COMPILED:
            raise UsageError(
                f"--static trains into formulae, and --budget-{kind} is measured on a compiled model",
                hint="give --budget-memory, or prune the result further without --static",
            )
    require_torch("--static")
    subject = Subject.read(files.model, profile(device))
    whole = subject.made({}).measured
    limits = Budgets({kind: amount.of(whole[kind]) for kind, amount in budgets.items()})
    found = _trained(subject, files, limits, options, progress)
    made = found.made if compiling is None else found.subject.compiled(found.made, compiling)
    before, masked, after = found.result.accuracy
    kept = {group: int(mask.sum()) for group, mask in found.result.keep.items()}
    channels = [kept[group.id] for group in subject.groups]
    dropped = sum(group.size for group in subject.groups) - sum(channels)
    unpruned, figures = figures_of(before, whole), figures_of(after, made.measured)
    variant = reports.Variant(
        budgets=dict(limits.limits),
        figures=figures,
        missed=[
            reports.Missed(kind, limits.limits[kind], made.measured[kind])
            for kind in limits.excess(made.measured)
        ],
        groups=[
            reports.GroupInfo(sources=list(group.sources), size=group.size, kept=kept[group.id])
            for group in subject.groups
        ],
        layers=subject.layers(made),
        stays=subject.stays(made),
        proof=found.proof,
    )
    trained_on, judged_on = found.counted
    report = reports.PruneReport(
        schema_version=reports.PRUNE_SCHEMA_VERSION,
        model=ModelInfo(
            os.fsencode(files.model).decode(errors="backslashreplace"),
            hashlib.sha256(files.model.read_bytes()).hexdigest(),
            "onnx",
        ),
        profile=subject.profile.name,
        method=f"static, {options.admm.z_step}",
        target="" if compiling is None else compiling.target,
        calibration=reports.Calibration(judged_on, "accuracy", MEANING["accuracy"], "PyTorch"),
        contribution=reports.Contribution("trained", trained_on, len(found.result.gaps), 1),
        unpruned=unpruned,
        variants=[variant],
        path=[
            reports.Point(0, [group.size for group in subject.groups], unpruned),
            reports.Point(dropped, channels, figures_of(masked, made.measured)),
            reports.Point(dropped, channels, figures),
        ],
        seconds=perf_counter() - began,
        warnings=_warnings(files, options, found.result),
    )
    return Pruned((PrunedVariant(made.model, dict(found.result.keep), made.compiled),), report)


def _trained(
    subject: Subject,
    files: StaticFiles,
    budgets: Budgets,
    options: StaticOptions,
    progress: Callable[[str, float], None],
) -> _Outcome:
    from serenity_mlir.pipelines.reform.train.static import StaticProblem, prune_static  # noqa: PLC0415

    data = read_calibration(files.samples, subject.inputs)
    samples = _labelled(data, files.samples)
    test = samples
    if files.test is not None:
        test = _labelled(read_calibration(files.test, subject.inputs), files.test)
    costs = CostModel(subject.network, subject.profile, subject.groups)
    limits = {str(kind): limit for kind, limit in budgets.limits.items()}
    problem = StaticProblem(subject.network, subject.groups, costs, limits, samples, test)
    result = prune_static(problem, options, progress=progress)
    trained = replace(subject, model=rebuilt(subject.model, result.network), network=result.network)
    made = trained.made(result.keep)
    counted = (len(samples.labels), len(test.labels))
    return _Outcome(trained, result, made, trained.prove(made, data), counted)


def _labelled(data: Calibration, path: Path) -> Samples:
    from serenity_mlir.pipelines.reform.train.static import Samples  # noqa: PLC0415  (an extra)

    if data.labels is None:
        raise SerenityError(
            "has no labels, and training needs the class of each sample",
            file=str(path),
            hint="add an array `labels`, or prune without --static",
        )
    return Samples(data.inputs, data.labels)


def _warnings(files: StaticFiles, options: StaticOptions, result: StaticResult) -> list[str]:
    found = []
    if not result.converged:
        found.append(
            f"gates have not converged: ‖F - Z‖ is {result.gaps[-1]:.3g} after "
            f"{counted(len(result.gaps), 'round')}, not below {options.admm.epsilon:g}"
        )
    if files.test is None:
        found.append("accuracy is that on the samples trained on: --test names others")
    return found
