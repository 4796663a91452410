"""How `serenity compile` ends: files, tables, and budgets that hold or do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from serenity_mlir import console
from serenity_mlir.pipelines.cli.budgets import Budgets, check_budgets, findings
from serenity_mlir.pipelines.cli.outputs import write_outputs
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.report import Report


@dataclass(frozen=True, slots=True)
class Finish:
    """What is written and checked once there is an artefact with figures.

    Attributes:
        output: The artefact's place.
        options: What it was made with.
        budgets: It is not written where one of them is exceeded.
        report: Where figures go, over budget or not.
        timeline: Whether they have the course of memory.
        sarif: Where exceeded budgets go.
        measure: Analyzes the model with other options; None where several ways were tried already.
    """

    output: Path
    options: CompileOptions
    budgets: Budgets
    report: Path | None
    timeline: bool
    sarif: Path | None
    measure: Callable[[CompileOptions], Report] | None

    def __call__(self, figures: Report, write: Callable[[Mapping[Path, bytes]], None]) -> None:
        """Write the artefact by `write`, which takes the files beside it; over budget write only those.

        Raises:
            BudgetExceeded: naming what is live at the peak, and what may help.
            SerenityError: A file cannot be written.
        """
        over = findings(figures, self.budgets)
        beside = {} if self.report is None else {self.report: figures.to_json(timeline=self.timeline)}
        if self.sarif is not None:
            from serenity_mlir.views.sarif import sarif  # noqa: PLC0415  (heavy)

            beside[self.sarif] = sarif(over)
        (write_outputs if over else write)(beside)
        console.print_report(figures)
        if over:
            console.print_note(f"{self.output} is not written: the model is over budget")
            searched = self.measure is None
            check_budgets(figures, self.options, self.budgets, searched=searched, measure=self.measure)
