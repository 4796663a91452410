"""The static scheme from a model, samples and budgets to a trained and pruned model, measured and proven."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.pipelines.reform.calibration import Calibration, read_calibration
from serenity_mlir.pipelines.reform.judge import MEANING
from serenity_mlir.pipelines.reform.onnx_network import rebuilt
from serenity_mlir.pipelines.reform.prune import Pruned, PrunedVariant, figures_of
from serenity_mlir.pipelines.reform.subject import Made, Subject
from serenity_mlir.pipelines.reform.train.extra import require_torch
from serenity_mlir.reform import report as reports
from serenity_mlir.reform.aim import Measured
from serenity_mlir.reform.budgets import COMPILED, Amount, Budgets, Kind
from serenity_mlir.reform.profile import DEFAULT_PROFILE, profile
from serenity_mlir.report import ModelInfo
from serenity_mlir.sizes import counted

if TYPE_CHECKING:
    from serenity_mlir.pipelines.reform.train.static import Samples, StaticOptions, StaticResult
    from serenity_mlir.reform.groups import GroupMasks
    from serenity_mlir.reform.network import Network
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


class _Workshop:
    """Makes pruned models of a subject, with any weights."""

    def __init__(
        self, subject: Subject, compiling: CompileOptions | None, progress: Callable[[str, float], None]
    ) -> None:
        self.subject, self._compiling, self._progress = subject, compiling, progress
        self._last: tuple[Network, GroupMasks, Made] | None = None

    def trained(self, network: Network) -> Subject:
        """The subject with the weights of a network."""
        return replace(self.subject, model=rebuilt(self.subject.model, network), network=network)

    def made(self, network: Network, masks: GroupMasks) -> Made:
        """Pruned, compiled where that is wanted, and measured; what was made last is not made again."""
        last = self._last
        if last is None or last[0] is not network or not _same(last[1], masks):
            made = self.trained(network).made(masks)
            if self._compiling is not None:
                self._progress("compile a variant", 0.0)
                made = self.subject.compiled(made, self._compiling)
            last = self._last = network, masks, made
        return last[2]

    def measure(self, network: Network, masks: GroupMasks) -> Measured:
        """What is left of a network with other weights."""
        made = self.made(network, masks)
        fixed: dict[Kind, float] = {} if made.compiled is None else {"ram": made.compiled.fixed}
        return Measured(made.measured, fixed, frozenset(self.subject.channels_of(made.refused)))


def _same(one: GroupMasks, other: GroupMasks) -> bool:
    return one.keys() == other.keys() and all((one[group] == other[group]).all() for group in one)


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
        budgets: Any number of them.
        options: Of the training.
        device: The profile, by name or file.
        compiling: How variants are compiled, where the result is to be; also used where RAM or ROM is
            budgeted, which compiled variants are measured for.
        progress: Told of each step, and of what share of its stage is done.

    Returns:
        One variant. Its score is accuracy, as all training is for; `path` has the unpruned model, the masked
        one before its last training, and the variant.

    Raises:
        SerenityError: PyTorch is not installed, or the model or the samples are at fault.
        CheckFailed: The pruned network is not equal to the masked one: our fault.
    """
    began = perf_counter()
    if compiling is None and set(COMPILED) & set(budgets):
        compiling = CompileOptions(emit="mlir")
    require_torch("--static")
    subject = Subject.read(files.model, profile(device))
    workshop = _Workshop(subject, compiling, progress)
    whole = workshop.made(subject.network, {})
    limits = Budgets({kind: amount.of(whole.measured[kind]) for kind, amount in budgets.items()})
    found = _trained(workshop, files, limits, options, progress)
    made = found.made
    before, masked, after = found.result.accuracy
    kept = {group: int(mask.sum()) for group, mask in found.result.keep.items()}
    channels = [kept[group.id] for group in subject.groups]
    dropped = sum(group.size for group in subject.groups) - sum(channels)
    unpruned, figures = figures_of(before, whole.measured), figures_of(after, made.measured)
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
        rounds=_rounds(found.result),
        seconds=perf_counter() - began,
        warnings=_warnings(files, options, found.result),
    )
    return Pruned((PrunedVariant(made.model, dict(found.result.keep), made.compiled),), report)


def _trained(
    workshop: _Workshop,
    files: StaticFiles,
    budgets: Budgets,
    options: StaticOptions,
    progress: Callable[[str, float], None],
) -> _Outcome:
    from serenity_mlir.pipelines.reform.train.static import StaticProblem, prune_static  # noqa: PLC0415

    subject = workshop.subject
    data = read_calibration(files.samples, subject.inputs)
    samples = _labelled(data, files.samples)
    test = samples
    if files.test is not None:
        test = _labelled(read_calibration(files.test, subject.inputs), files.test)
    estimate = subject.estimate(tuple(budgets.limits))
    unpruned = workshop.measure(subject.network, {})
    estimate.correct({}, unpruned.figures, unpruned.fixed)
    problem = StaticProblem(
        subject.network, subject.groups, estimate, budgets.limits, samples, test, workshop.measure
    )
    result = prune_static(problem, options, progress=progress)
    made, trained = workshop.made(result.network, result.keep), workshop.trained(result.network)
    counted = (len(samples.labels), len(test.labels))
    return _Outcome(trained, result, made, trained.prove(made, data), counted)


def _rounds(result: StaticResult) -> list[reports.Round]:
    columns = (result.losses, result.gaps, result.means, result.kept)
    return [
        reports.Round(loss, gap, list(means), list(kept))
        for loss, gap, means, kept in zip(*columns, strict=True)
    ]


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
