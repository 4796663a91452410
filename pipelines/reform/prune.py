"""The dynamic scheme: from a model, samples and budgets to pruned variants, each measured and proven."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import CompileOptions, noted
from serenity_mlir.pipelines.reform.calibration import read_calibration
from serenity_mlir.pipelines.reform.engine import engine, engine_name
from serenity_mlir.pipelines.reform.gated import Evaluation, GatedModel, joined
from serenity_mlir.pipelines.reform.judge import MEANING, Judge
from serenity_mlir.pipelines.reform.ranking import Ranker
from serenity_mlir.pipelines.reform.subject import Made, Subject
from serenity_mlir.reform import report as reports
from serenity_mlir.reform.budgets import ATTEMPTS, COMPILED, Amount, Budgets, Kind, tightened
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.masking import Masking, Method
from serenity_mlir.reform.profile import DEFAULT_PROFILE, profile
from serenity_mlir.report import ModelInfo

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import onnx

    from serenity_mlir.pipelines.reform.compiled import CompiledVariant
    from serenity_mlir.pipelines.reform.contribution import Choice


@dataclass(frozen=True)
class PruneOptions:
    """How to prune.

    Attributes:
        method: How channels are chosen.
        contribution: How CI is found, for method "pi".
        profile: Of the device, by name or file.
        seed: Of random choices.
        names: Of the variants, where they are to have any.
        compile: How variants are compiled, where RAM or ROM is budgeted.
        always_compile: Also where neither is.
    """

    method: Method = "pi"
    contribution: Choice = "auto"
    profile: str = DEFAULT_PROFILE
    seed: int = 0
    names: Sequence[str] = ()
    compile: CompileOptions = field(default_factory=lambda: CompileOptions(emit="mlir"))
    always_compile: bool = False


@dataclass(frozen=True, eq=False)
class PrunedVariant:
    """A variant as a model.

    Attributes:
        model: Ordinary ONNX.
        masks: Which channels of each group it keeps.
        compiled: As compiled, where it was.
    """

    model: onnx.ModelProto
    masks: Mapping[int, npt.NDArray[np.bool_]]
    compiled: CompiledVariant | None


@dataclass(frozen=True, eq=False)
class Pruned:
    """Variants of one model, from the largest to the smallest, and the report on them."""

    variants: tuple[PrunedVariant, ...]
    report: reports.PruneReport


def prune(path: Path, data: Path, budgets: Sequence[Mapping[Kind, Amount]], options: PruneOptions) -> Pruned:
    """Mask channels by Algorithm 1 until all budgets hold, and remove them.

    Args:
        path: An ONNX model.
        data: An NPZ file: an array for each input, and perhaps `labels`.
        budgets: Of each variant; every one is masked on top of the one before.
        options: How.

    Returns:
        One variant for each of `budgets`; where a budget cannot be met, its `missed` says so.

    Raises:
        SerenityError: The model or the data are at fault.
        CheckFailed: A pruned network is not equal to the masked one: our fault.
    """
    try:
        return _Pruning(path, data, budgets, options).run()
    except SerenityError as error:
        if error.file is not None:
            raise
        raise type(error)(error.message, file=str(path), where=error.where, hint=error.hint) from error


class _Pruning:
    def __init__(
        self, path: Path, data: Path, budgets: Sequence[Mapping[Kind, Amount]], options: PruneOptions
    ) -> None:
        self._began = perf_counter()
        self._path, self._budgets, self._options = path, budgets, options
        self._progress = noted(options.compile.progress)
        self._progress("import")
        self._subject = subject = Subject.read(path, profile(options.profile))
        self._kinds: tuple[Kind, ...] = tuple(dict.fromkeys(kind for item in budgets for kind in item))
        self._compiles = options.always_compile or any(kind in COMPILED for kind in self._kinds)
        self._data = read_calibration(data, subject.inputs)
        self._progress("evaluate")
        gated = GatedModel(subject.model, subject.network, subject.gated)
        outputs = joined(gated.run(inputs, {}) for inputs in self._data.batches())
        self._evaluation = Evaluation(gated, self._data, Judge(subject.network, outputs, self._data.labels))
        self._estimate = subject.estimate(self._kinds)
        self._score = self._evaluation.judge.score(outputs)
        self._costs = CostModel(subject.network, subject.profile)
        self._ranker = Ranker(
            subject.network,
            subject.groups,
            self._costs,
            self._evaluation,
            method=options.method,
            choice=options.contribution,
            seed=options.seed,
            variants=len(budgets),
            progress=self._progress,
        )
        self._masking = Masking(
            subject.groups,
            self._estimate,
            floor=0.5 / self._data.count,
            by_cost=options.method == "pi",
        )

    def run(self) -> Pruned:
        """Make every variant."""
        unpruned = self._measured(self._subject.made({}))
        self._points = [self._point(figures_of(self._score, unpruned.measured))]
        found = []
        for amounts in self._budgets:
            limits = {kind: amount.of(unpruned.measured[kind]) for kind, amount in amounts.items()}
            found.append(self._variant(Budgets(limits)))
        infos = [info for _, info in found]
        if self._options.names:
            named = zip(infos, self._options.names, strict=True)
            infos = [msgspec.structs.replace(info, name=name) for info, name in named]
        return Pruned(tuple(item for item, _ in found), self._report(infos))

    def _variant(self, budgets: Budgets) -> tuple[PrunedVariant, reports.Variant]:
        first = len(self._masking.steps)
        self._mask_in_rounds(budgets)
        made = self._reach(budgets, first)
        self._progress("prove")
        proof = self._subject.prove(made, self._data)
        run = engine(made.model)
        score = self._evaluation.judge.score(joined(run(inputs) for inputs in self._data.batches()))
        figures = figures_of(score, made.measured)
        self._points.append(self._point(figures))
        info = reports.Variant(
            budgets=dict(budgets.limits),
            figures=figures,
            missed=[
                reports.Missed(kind, budgets.limits[kind], made.measured[kind])
                for kind in budgets.excess(made.measured)
            ],
            groups=self._groups(),
            layers=self._subject.layers(made),
            stays=self._subject.stays(made),
            proof=proof,
        )
        masks = {group: mask.copy() for group, mask in self._masking.masks.items()}
        return PrunedVariant(made.model, masks, made.compiled), info

    def _mask_in_rounds(self, budgets: Budgets) -> None:
        """Go to the budgets in steps, each by what channels are worth in the network as masked by then."""
        rounds = max(1, self._ranker.contribution.rounds // len(self._budgets))
        start = self._estimate.of(self._masking.kept)
        for index in range(1, rounds + 1):
            share = index / rounds
            goal = Budgets(
                {
                    kind: max(limit, start[kind] - (start[kind] - limit) * share)
                    for kind, limit in budgets.limits.items()
                }
            )
            before = self._estimate.of(self._masking.kept)
            if not goal.excess(before):
                continue
            self._masking.rank(self._ranker.rank(self._masking.masks))
            self._progress("mask")
            self._masking.until(goal)
            if index < rounds:
                score = self._evaluation.score(self._subject.gates(self._masking.masks))
                self._points.append(self._point(figures_of(score, self._estimate.of(self._masking.kept))))

    def _reach(self, budgets: Budgets, first: int) -> Made:
        """Mask on until the variant itself is within the budgets.

        Args:
            budgets: Of the variant.
            first: How many of the first steps are those of a larger variant, and stay.
        """
        goal = dict(budgets.limits)
        stay = {(step.group, step.channel) for step in self._masking.steps[:first]}
        for attempt in range(1, ATTEMPTS + 1):
            if not self._masking.ranked and Budgets(goal).excess(self._estimate.of(self._masking.kept)):
                self._masking.rank(self._ranker.rank(self._masking.masks))
            reached = self._masking.until(Budgets(goal))
            if reached:
                self._masking.take_back(Budgets(goal), first)
            made = self._subject.made(self._masking.masks)
            back = self._subject.channels_of(made.refused) - stay
            if back and attempt < ATTEMPTS:
                self._masking.put_back(back)
                continue
            made = self._measured(made)
            excess = budgets.excess(made.measured)
            if reached != bool(excess):
                break
            # Where it holds against all estimates, these are right by now and give back what was too much.
            goal = tightened(goal, excess, attempt)
        return made

    def _measured(self, made: Made) -> Made:
        """With RAM and ROM, where they matter; estimates are put right by what is found."""
        if self._compiles:
            self._progress("compile a variant")
            made = self._subject.compiled(made, self._options.compile)
        fixed: dict[Kind, float] = {} if made.compiled is None else {"ram": made.compiled.fixed}
        self._estimate.correct(self._masking.kept, made.measured, fixed)
        return made

    def _point(self, figures: reports.Figures) -> reports.Point:
        kept = self._masking.kept
        return reports.Point(
            len(self._masking.steps), [kept[group.id] for group in self._subject.groups], figures
        )

    def _groups(self) -> list[reports.GroupInfo]:
        found = []
        for group in self._subject.groups:
            sensitivity = self._ranker.sensitivities.get(group.id)
            found.append(
                reports.GroupInfo(
                    sources=list(group.sources),
                    size=group.size,
                    kept=self._masking.kept[group.id],
                    shares=[] if sensitivity is None else list(sensitivity.shares),
                    drops=[] if sensitivity is None else list(sensitivity.drops),
                    priorities=[step.priority for step in self._masking.steps if step.group == group.id],
                )
            )
        return found

    def _report(self, variants: list[reports.Variant]) -> reports.PruneReport:
        judge = self._evaluation.judge
        return reports.PruneReport(
            schema_version=reports.PRUNE_SCHEMA_VERSION,
            model=ModelInfo(
                os.fsencode(self._path).decode(errors="backslashreplace"),
                hashlib.sha256(self._path.read_bytes()).hexdigest(),
                "onnx",
            ),
            profile=self._subject.profile.name,
            method=self._options.method,
            target=self._options.compile.target if self._compiles else "",
            calibration=reports.Calibration(
                self._data.count, judge.measure, MEANING[judge.measure], engine_name()
            ),
            contribution=self._ranker.contribution,
            unpruned=self._points[0].figures,
            variants=variants,
            path=self._points,
            seconds=perf_counter() - self._began,
            warnings=self._ranker.warnings,
        )


def figures_of(score: float, measured: Mapping[Kind, float]) -> reports.Figures:
    """A score and what was measured, as reports have them."""
    return reports.Figures(
        score=score,
        macs=measured["macs"],
        memory=measured["memory"],
        energy=measured["energy"],
        latency=measured["latency"],
        ram=measured.get("ram"),
        rom=measured.get("rom"),
    )
