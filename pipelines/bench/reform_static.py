"""The static scheme on LeNet: beside a greedy one, beside simple masks, and with its terms weighed anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean
from time import process_time
from typing import TYPE_CHECKING

from serenity_mlir.pipelines.bench.paper_tables import TextTable
from serenity_mlir.pipelines.bench.reform_baselines import (
    magnitude_masks,
    netadapt,
    random_masks,
)
from serenity_mlir.pipelines.bench.reform_resources import shown
from serenity_mlir.pipelines.bench.reform_setting import TUNING, Setting, counts
from serenity_mlir.pipelines.reform.train.admm import AdmmOptions, GatesClosed
from serenity_mlir.pipelines.reform.train.static import StaticOptions, StaticResult, prune_static
from serenity_mlir.pipelines.reform.train.training import Training

if TYPE_CHECKING:
    from serenity_mlir.pipelines.bench.reform_setting import Masks
    from serenity_mlir.reform.budgets import Kind
    from serenity_mlir.reform.costs import Resources

MIB = 1 << 20
PAPER_BUDGET = 12.35 * MIB
_ITERATIONS = 6  # of the greedy one: each lowers the memory by a sixth of what is to go
_SWEEP = (1e-2, 1e-1, 1.0, 1e1, 1e2)


def pruned(setting: Setting, budgets: dict[Kind, float], options: AdmmOptions | None = None) -> StaticResult:
    """The static scheme with its defaults, or with others."""
    admm = replace(options or AdmmOptions(), seed=setting.seed)
    return prune_static(
        setting.problem(budgets),
        StaticOptions(admm, replace(TUNING, seed=setting.seed)),
        progress=setting.told("ADMM"),
    )


def beside_greedy(setting: Setting) -> TextTable:
    """ADMM and the greedy one under the same memory budgets: the paper's, and half."""
    full = setting.costs.total().memory
    rows = [
        [
            "unpruned",
            _mib(full),
            shown(tuple(group.size for group in setting.groups)),
            "",
            _percent(setting.accuracy),
            "",
        ]
    ]
    for budget in (PAPER_BUDGET, full / 2):
        label = f"{budget / MIB:.2f} MB"
        began = process_time()
        ours = pruned(setting, {"memory": budget})
        spent = process_time() - began
        rows.append(
            [
                f"{label}, ADMM",
                _mib(ours.resources.memory),
                shown(ours.keep),
                _percent(ours.accuracy[1]),
                _percent(ours.accuracy[2]),
                f"{spent:.0f}",
            ]
        )
        greedy = netadapt(setting, "memory", budget, _ITERATIONS, replace(TUNING, seed=setting.seed))
        rows.append(
            [
                f"{label}, greedy ({greedy.iterations} iterations)",
                _mib(greedy.resources.memory),
                shown(greedy.kept),
                _percent(greedy.accuracy[0]),
                _percent(greedy.accuracy[1]),
                f"{greedy.seconds:.0f}",
            ]
        )
    note = (
        "The paper: 12.35 of 12.6 MB with 97% kept, by ADMM in 3 minutes and by NetAdapt in 10. MB of 2^20 "
        f"bytes, of which Eq. 2 gives this LeNet {full / MIB:.2f}. The greedy one lowers the memory by "
        f"NetAdapt's loop in {_ITERATIONS} iterations at most, each candidate trained for 20 steps: the "
        "ratio of times follows from these numbers, which the paper does not give."
    )
    headings = ["budget", "MB", "channels kept", "accuracy, masked", "trained", "CPU s"]
    return TextTable("LeNet under a memory budget", headings, rows, note)


def beside_masks(settings: Sequence[Setting]) -> TextTable:
    """Half the MACs and half the memory at once, over seeds: ADMM, magnitudes, random channels."""
    rows = []
    drops: dict[str, list[tuple[float, float, float]]] = {"ADMM": [], "magnitude": [], "random": []}
    for setting in settings:
        budgets = setting.shares(macs=0.5, memory=0.5)
        ours = pruned(setting, budgets)
        rounds = len(ours.gaps) * AdmmOptions().steps
        # The others get as many steps of training as ADMM had in all.
        epoch = -(-len(setting.data.labels) // 64)
        training = Training(TUNING.rate, 1 + round(rounds / epoch), setting.seed)
        found: dict[str, tuple[float, float, Masks]] = {"ADMM": (*ours.accuracy[1:], ours.keep)}
        for name, masks in (
            ("magnitude", magnitude_masks(setting, budgets)),
            ("random", random_masks(setting, budgets)),
        ):
            found[name] = (*setting.tuned(masks, training), masks)
        for name, (masked, tuned, keep) in found.items():
            total = setting.costs.total(counts(keep))
            drops[name].append((setting.accuracy, masked, tuned))
            rows.append([f"{name}, seed {setting.seed}", *_shares(setting, total), shown(keep),
                         _percent(setting.accuracy), _percent(masked), _percent(tuned),
                         _points(setting.accuracy - tuned)])  # fmt: skip
    for name, values in drops.items():
        before, masked, tuned = (mean(column) for column in zip(*values, strict=True))
        rows.append(
            [
                f"{name}, mean",
                "",
                "",
                "",
                _percent(before),
                _percent(masked),
                _percent(tuned),
                _points(before - tuned),
            ]
        )
    note = (
        "Budgets: half the MACs and half the memory at once. All three are projected onto them alike, and "
        "get at least as many steps of training as ADMM in all."
    )
    headings = ["channels by", "MACs", "memory", "kept", "before", "masked", "trained", "points lost"]
    return TextTable("Accuracy at half of MACs and memory", headings, rows, note)


def sweep(setting: Setting) -> TextTable:
    """λ1 with the projection, λ2 with the published penalty."""
    rows = []
    budgets = setting.shares(memory=0.5)
    for name, z_step in (("lambda1", "projection"), ("lambda1", "penalty"), ("lambda2", "penalty")):
        for value in _SWEEP:
            given = {"z_step": z_step, "rounds": 5, name: value}
            options = AdmmOptions(**given)  # type: ignore[arg-type]  # a name of each kind
            rows.append([f"{name} = {value:g}, {z_step}", *_swept(setting, budgets, options)])
    note = (
        "Half the memory, five rounds. From λ1 = 0.1 on, Eq. 4 has its minimum with all gates closed: λ1 "
        f"times their number, {sum(group.size for group in setting.groups)}, is more than any cross-entropy. "
        "The projection has no λ2: its budgets hold by construction. With the penalty a channel is dropped "
        "where its gate ends below one half."
    )
    headings = ["weight", "MB", "channels kept", "budget holds", "accuracy, masked", "trained", "seconds"]
    return TextTable("Weights of the terms", headings, rows, note)


def _swept(setting: Setting, budgets: dict[Kind, float], options: AdmmOptions) -> list[str]:
    try:
        found = pruned(setting, budgets, options)
    except GatesClosed:
        return ["", "", "all gates close", "", "", ""]
    return [
        _mib(found.resources.memory),
        shown(found.keep),
        "no" if found.unmet else "yes",
        _percent(found.accuracy[1]),
        _percent(found.accuracy[2]),
        f"{found.seconds:.0f}",
    ]


def _shares(setting: Setting, total: Resources) -> list[str]:
    full = setting.costs.total()
    return [f"{total.macs / full.macs:.1%}", f"{total.memory / full.memory:.1%}"]


def _mib(value: float) -> str:
    return f"{value / MIB:.2f}"


def _percent(value: float) -> str:
    return f"{value:.2%}"


def _points(value: float) -> str:
    return f"{100 * value:.2f}"
