"""VGG's resources layer by layer, and its reduction to the budgets of devices (ReForm, figure 4 and table 2).

Resources only: the network is untrained, and which channels of a layer are kept changes none of its costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.pipelines.bench.paper_tables import TextTable
from serenity_mlir.pipelines.bench.reform_networks import vgg
from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.groups import ChannelGroup, channel_groups
from serenity_mlir.reform.profile import profile
from serenity_mlir.reform.projection import project

if TYPE_CHECKING:
    from serenity_mlir.reform.budgets import Kind
    from serenity_mlir.reform.costs import Resources
    from serenity_mlir.reform.groups import GroupMasks
    from serenity_mlir.reform.network import Network

_UNITS: dict[Kind, float] = {"macs": 1e6, "memory": 1e6, "energy": 1.0}
_NAMES: dict[Kind, str] = {"macs": "M MACs", "memory": "MB", "energy": "mJ"}
_PAPER_MODEL: dict[Kind, float] = {"macs": 317.04, "memory": 62.0}
_NEXUS4: dict[Kind, float] = {"macs": 270.0, "memory": 45.0, "energy": 26.0}
_PAPER_NEXUS4: dict[Kind, float] = {"macs": 259.46, "memory": 43.25, "energy": 25.96}
_SHARES = (0.8, 0.6, 0.4)
_SEED = 0


@dataclass(frozen=True)
class Vgg:
    """The network, what may shrink of it, and what it costs."""

    network: Network
    groups: tuple[ChannelGroup, ...]
    costs: CostModel


@cache
def _vgg() -> Vgg:
    network = network_of(infer_shapes(vgg(_SEED)))
    groups = tuple(group for group in channel_groups(network) if group.prunable)
    return Vgg(network, groups, CostModel(network, profile("paper-fit"), groups))


def layer_map() -> TextTable:
    """Costs of each layer before, and with the budgets of a Nexus 4 all at once."""
    net = _vgg()
    keep = project(_values(net.groups), Estimate(net.costs), _scaled(_NEXUS4)).keep
    kept = {group: int(mask.sum()) for group, mask in keep.items()}
    before, after = net.costs.by_layer(), net.costs.by_layer(kept)
    sizes = {source: (group.size, kept[group.id]) for group in net.groups for source in group.sources}
    rows = []
    for layer in net.costs.layers:
        whole, left = sizes.get(layer.output, (10, 10))
        rows.append(
            [layer.node, str(whole), str(left), *_figures(before[layer.node]), *_figures(after[layer.node])]
        )
    rows.append(["all", "", "", *_figures(net.costs.total()), *_figures(net.costs.total(kept))])
    total = net.costs.total()
    note = (
        f"The paper has {_PAPER_MODEL['macs']} M MACs and {_PAPER_MODEL['memory']:g} MB for the unpruned "
        f"network; by Eq. 1 and 2 its layers make {total.macs / 1e6:.2f} and {total.memory / 1e6:.2f} "
        f"({total.macs / 1e6 / _PAPER_MODEL['macs'] - 1:+.1%} MACs; MB of 10^6 bytes). The paper's "
        f"variant for a "
        f"Nexus 4 has {_ratio('macs', total.macs)} of its MACs and {_ratio('memory', total.memory)} of "
        f"its memory. "
        "Energy is that of the profile paper-fit, whose one free factor is fitted to that variant: "
        "shares of it "
        "mean something, millijoules do not."
    )
    headings = [
        "layer",
        "channels",
        "kept",
        *_NAMES.values(),
        *(f"{name}, pruned" for name in _NAMES.values()),
    ]
    return TextTable("VGG, layer by layer", headings, rows, note)


def devices() -> TextTable:
    """Budgets of devices: all at once by the projection, one at a time by a greedy one."""
    full = _vgg().costs.total()
    budgets = {"Nexus 4 (published)": _scaled(_NEXUS4)}
    for share in _SHARES:
        budgets[f"{share:.0%} of each"] = {name: share * getattr(full, name) for name in _UNITS}
    rows = [["unpruned", "", *_figures(full), "", ""]]
    for device, limits in budgets.items():
        rows.append([device, "budget", *_figures(limits), "", ""])
        if device.startswith("Nexus"):
            rows.append([device, "paper's result", *_figures(_scaled(_PAPER_NEXUS4)), "yes", ""])
        rows.append([device, "all at once", *_reduced(limits, limits)])
        for name, limit in limits.items():
            rows.append([device, f"{_NAMES[name]} alone", *_reduced({name: limit}, limits)])
    note = (
        "Of the paper's four devices only the Nexus 4's budgets are known here; the other three rows "
        "stand in for "
        "them. One at a time is what a method with a single constraint, as NetAdapt's, guarantees: the "
        "others then "
        "hold or not as it happens. Each is filled as far as whole channels allow."
    )
    headings = ["device", "constraint", *_NAMES.values(), "all hold", "channels kept"]
    return TextTable("VGG under the budgets of devices", headings, rows, note)


def _ratio(name: Kind, full: float) -> str:
    return f"{_PAPER_NEXUS4[name] * _UNITS[name] / full:.1%}"


def _reduced(given: Mapping[Kind, float], limits: Mapping[Kind, float]) -> list[str]:
    net = _vgg()
    found = project(_values(net.groups), Estimate(net.costs), given)
    total = found.resources
    over = [_NAMES[name] for name, limit in limits.items() if getattr(total, name) > limit]
    return [*_figures(total), f"no: {', '.join(over)}" if over else "yes", shown(found.keep)]


def shown(kept: GroupMasks | tuple[int, ...]) -> str:
    """Channels of each layer, as tables have them."""
    sizes = kept if isinstance(kept, tuple) else [int(mask.sum()) for mask in kept.values()]
    return "-".join(map(str, sizes))


def _values(groups: tuple[ChannelGroup, ...]) -> dict[int, np.ndarray]:
    """Gates of an untrained network: all open, with noise that tells them apart."""
    rng = np.random.default_rng(_SEED)
    return {group.id: rng.normal(1.0, 0.2, group.size) for group in groups}


def _scaled(values: Mapping[Kind, float]) -> dict[Kind, float]:
    return {name: value * _UNITS[name] for name, value in values.items()}


def _figures(found: Resources | Mapping[Kind, float]) -> list[str]:
    values = found if isinstance(found, Mapping) else {name: getattr(found, name) for name in _UNITS}
    return [f"{values[name] / unit:.2f}" for name, unit in _UNITS.items()]
