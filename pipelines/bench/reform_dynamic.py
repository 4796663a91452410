"""The dynamic scheme on a trained LeNet: LI of layers, and variants for the memory that other apps leave."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.pipelines.bench.paper_tables import TextTable
from serenity_mlir.pipelines.bench.reform_setting import PROFILE
from serenity_mlir.pipelines.reform.onnx_network import rebuilt
from serenity_mlir.pipelines.reform.prune import PruneOptions, prune
from serenity_mlir.reform.budgets import Amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serenity_mlir.pipelines.bench.reform_setting import Setting

_MEMORY = 2.5  # of the device, in times the model's size (ReForm, figure 6)
_BACKGROUND = {"idle": 0.6, "light": 0.7, "medium": 0.8, "heavy": 0.9}
"""The share of the device's memory that other apps hold: ours, as the paper's is not published in figures."""
_CALIBRATION = 512


def scenarios(setting: Setting) -> Iterator[TextTable]:
    """LI of each layer, and accuracy and resources in four background scenarios, without retraining."""
    full = setting.costs.total()
    left = {name: _MEMORY * (1 - share) for name, share in _BACKGROUND.items()}
    with tempfile.TemporaryDirectory(prefix="serenity-") as folder:
        model, data = Path(folder) / "lenet.onnx", Path(folder) / "digits.npz"
        model.write_bytes(rebuilt(setting.model, setting.network).SerializeToString())
        images, labels = setting.data.images[:_CALIBRATION], setting.data.labels[:_CALIBRATION]
        np.savez(data, image=images, labels=labels)
        budgets = [{"memory": Amount(min(share, 1.0) * full.memory)} for share in left.values()]
        pruned = prune(model, data, budgets, PruneOptions(profile=PROFILE))  # type: ignore[arg-type]
    report = pruned.report
    rows = []
    for group in report.variants[-1].groups:
        rows.append([group.sources[0], str(group.size), *(f"{100 * drop:.1f}" for drop in group.drops)])
    shares = [f"{share:.0%} masked" for share in report.variants[-1].groups[0].shares]
    note = (
        f"Points of accuracy lost on {_CALIBRATION} training digits, the channels of least CI masked first."
    )
    yield TextTable("LI of LeNet's layers", ["layer", "channels", *shares], rows, note)
    rows = []
    for (name, share), variant, made in zip(left.items(), report.variants, pruned.variants, strict=True):
        figures = variant.figures
        accuracy = setting.masked_accuracy(made.masks)
        rows.append(
            [
                name,
                f"{_BACKGROUND[name]:.0%}",
                f"{min(share, 1.0) * full.memory / 2**20:.2f}",
                f"{figures.memory / 2**20:.2f}",
                f"{figures.macs / full.macs:.1%}",
                f"{figures.energy / full.energy:.1%}",
                "-".join(str(group.kept) for group in variant.groups),
                f"{accuracy:.2%}",
                f"{100 * (setting.accuracy - accuracy):.2f}",
            ]
        )
    note = (
        f"A device whose memory is {_MEMORY} times the model (Eq. 2), of which other apps hold a part: "
        "the shares are ours. Four nested variants by Algorithm 1, CI by "
        f"{report.contribution.estimate} on {_CALIBRATION} training digits, no retraining; accuracy on test "
        f"digits. All four took {report.seconds:.0f} s, model and proofs included."
    )
    headings = [
        "background",
        "holds",
        "MB left",
        "MB",
        "MACs",
        "energy",
        "channels kept",
        "accuracy",
        "points lost",
    ]
    yield TextTable("LeNet beside other apps", headings, rows, note)
