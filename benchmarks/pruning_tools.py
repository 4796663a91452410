"""Channels removed by torch-pruning and by ours, of the same networks at the same ratios.

    .venv/bin/python benchmarks/pruning_tools.py [-o benchmarks/results/pruning_tools.md]

Each tool removes the given share of every layer's channels, those of least magnitude. A result is right where
it equals the unpruned network with the same channels multiplied by zero, behind bias and batch normalisation.
Multiply-accumulates are those of convolutions and products, counted alike for both.
"""

from __future__ import annotations

import argparse
import copy
import io
import shlex
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
import torch_pruning
from pruning_networks import NETWORKS
from torch import nn

from serenity_mlir import console
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.bench.reform_setting import prunable
from serenity_mlir.pipelines.bench.result_file import result_file, table
from serenity_mlir.pipelines.reform.onnx_network import apply, load, masked, network_of
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.groups import gates_of
from serenity_mlir.reform.magnitude import magnitudes
from serenity_mlir.reform.profile import profile
from serenity_mlir.reform.removal import plan_removal

RATIOS = (0.25, 0.5)
SHAPE = (1, 3, 16, 16)
TOLERANCE = 1e-4
LAYERS = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)


@dataclass(frozen=True)
class Outcome:
    """What became of one network.

    Attributes:
        macs: Multiply-accumulates of what is left; None where nothing runs.
        error: The largest difference from the masked network, over the largest output.
        fault: Why there is none.
    """

    macs: int | None
    error: float | None
    fault: str = ""

    def shown(self) -> list[str]:
        if self.error is None:
            return ["", f"fails: {self.fault}"]
        verdict = f"right ({self.error:.0e})" if self.error <= TOLERANCE else f"WRONG by {self.error:.0%}"
        return [f"{self.macs:,}", verdict]


def build(name: str) -> Any:
    """A network with weights of fixed seed, batch normalisation off its defaults."""
    torch.manual_seed(0)
    network = NETWORKS[name]().eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.3)
            nn.init.normal_(module.running_mean, 0, 0.3)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return network


def torch_macs(network: Any, x: Any) -> int:
    """Multiply-accumulates of convolutions and dense layers in one run."""
    total = 0

    def count(module: Any, inputs: Any, output: Any) -> None:
        nonlocal total
        per = module.weight.numel() // module.weight.shape[0]
        total += (inputs[0] if isinstance(module, nn.ConvTranspose2d) else output).numel() * per

    hooks = [m.register_forward_hook(count) for m in network.modules() if isinstance(m, LAYERS)]
    with torch.no_grad():
        network(x)
    for hook in hooks:
        hook.remove()
    return total


def by_torch_pruning(network: Any, x: Any, ratio: float) -> Outcome:
    """torch-pruning's magnitude pruner with its defaults, the last layer left alone."""
    pruned = copy.deepcopy(network)
    names = {module: name for name, module in pruned.named_modules()}
    last = [module for module in pruned.modules() if isinstance(module, nn.Linear)][-1]
    dropped: dict[str, list[int]] = {}
    try:
        pruner = torch_pruning.pruner.MagnitudePruner(
            pruned, x, torch_pruning.importance.MagnitudeImportance(p=2), pruning_ratio=ratio,
            ignored_layers=[last],
        )  # fmt: skip
        for group in pruner.step(interactive=True):
            for dependency, channels in group:
                module = dependency.target.module
                out = dependency.handler in _out_functions()
                if out and isinstance(module, LAYERS):
                    dropped[names[module]] = sorted({*dropped.get(names[module], []), *channels})
            group.prune()
        with torch.no_grad():
            found = pruned(x)
        macs = torch_macs(pruned, x)
    except Exception as error:  # whatever a tool under test may raise
        return Outcome(None, None, f"{type(error).__name__}: {' '.join(str(error).split())[:90]}")
    with torch.no_grad():
        expected = masked_in_torch(network, dropped)(x)
    return Outcome(macs, float((found - expected).abs().max() / expected.abs().max()))


def _out_functions() -> set[Any]:
    pruners = torch_pruning.pruner.function
    return {
        pruners.prune_conv_out_channels, pruners.prune_linear_out_channels,
        pruners.prune_depthwise_conv_out_channels,
    }  # fmt: skip


def masked_in_torch(network: Any, dropped: dict[str, list[int]]) -> Any:
    """The network with these channels of layers multiplied by zero, behind a batch normalisation."""
    result = copy.deepcopy(network)
    modules = list(result.named_modules())
    for place, (name, module) in enumerate(modules):
        if name not in dropped:
            continue
        after = modules[place + 1][1] if place + 1 < len(modules) else None
        target = after if isinstance(after, nn.BatchNorm2d) else module
        keep = torch.ones(module.weight.shape[1 if isinstance(module, nn.ConvTranspose2d) else 0])
        keep[dropped[name]] = 0
        shape = (1, -1) if isinstance(module, nn.Linear) else (1, -1, 1, 1)
        target.register_forward_hook(partial(_gated, keep.reshape(shape)))
    return result


def _gated(gate: Any, _module: Any, _inputs: Any, output: Any) -> Any:
    return output * gate


def by_ours(network: Any, x: Any, ratio: float) -> Outcome:
    """The same share of each group, of the ONNX model that torch exports."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that needs no other package is deprecated
        torch.onnx.export(network, (x,), file, dynamo=False)
    path = Path("build") / "pruning_tools.onnx"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(file.getvalue())
    model, plain = load(path)
    groups = prunable(plain)
    norms = magnitudes(plain, groups, CostModel(plain, profile("horowitz45")).layers)
    masks = {}
    for group in groups:
        keep = np.zeros(group.size, dtype=np.bool_)
        keep[np.argsort(-norms[group.id], kind="stable")[: int(group.size * (1 - ratio))]] = True
        masks[group.id] = keep
    gates = gates_of(plain, masks)
    pruned = apply(model, plan_removal(plain, gates))
    found, expected = run(pruned, x), run(masked(model, gates), x)
    macs = CostModel(network_of(pruned), profile("horowitz45")).total().macs
    return Outcome(int(macs), float(np.abs(found - expected).max() / np.abs(expected).max()))


def _or_fault(network: Any, x: Any, ratio: float) -> Outcome:
    try:
        return by_ours(network, x, ratio)
    except SerenityError as error:
        return Outcome(None, None, str(error).splitlines()[0])


def run(model: onnx.ModelProto, x: Any) -> Any:
    """onnxruntime's first output."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, help="also write markdown")
    options = parser.parse_args()
    torch.set_num_threads(1)
    x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(1))
    rows = []
    for name in NETWORKS:
        network = build(name)
        for ratio in RATIOS:
            theirs, ours = by_torch_pruning(network, x, ratio), _or_fault(network, x, ratio)
            rows.append([name, f"{ratio:.0%}", f"{torch_macs(network, x):,}", *theirs.shown(), *ours.shown()])
    headings = ["network", "ratio", "MACs", "torch-pruning", "it is", "ours", "it is"]
    console.print_table("Channels removed", headings, rows)
    if options.output is not None:
        text = f"{table(headings, rows)}\n\n{(__doc__ or '').split('.md]')[1].strip()}"
        command = shlex.join(["python", *sys.argv])
        packages = ("torch", "torch-pruning", "onnx", "onnxruntime", "numpy")
        options.output.write_text(
            result_file("Channels removed, beside torch-pruning", text, command, packages=packages)
        )


if __name__ == "__main__":
    main()
