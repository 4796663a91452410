"""The model that is pruned: its channels removed, what is left measured and proven."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from serenity_mlir.errors import CheckFailed, SerenityError
from serenity_mlir.pipelines.importing.source import TensorIO
from serenity_mlir.pipelines.reform.compiled import CompiledVariant, compile_variant
from serenity_mlir.pipelines.reform.engine import engine
from serenity_mlir.pipelines.reform.onnx_network import apply, load, masked, network_of
from serenity_mlir.pipelines.verify import compare
from serenity_mlir.reform import report as reports
from serenity_mlir.reform.arena import ArenaModel
from serenity_mlir.reform.budgets import COMPILED
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.estimate import Estimate
from serenity_mlir.reform.groups import ChannelGroup, channel_groups, gated_tensor, gates_of
from serenity_mlir.reform.removal import Refusal, plan_removal
from serenity_mlir.reform.uniform import uniform_groups

if TYPE_CHECKING:
    import onnx

    from serenity_mlir.pipelines.compile import CompileOptions
    from serenity_mlir.pipelines.reform.calibration import Calibration
    from serenity_mlir.reform.budgets import Kind
    from serenity_mlir.reform.gates import Gates
    from serenity_mlir.reform.groups import GroupMasks
    from serenity_mlir.reform.network import Network
    from serenity_mlir.reform.profile import Profile
    from serenity_mlir.report import Verification

_PROOF_SAMPLES = 64


@dataclass(frozen=True, eq=False)
class Made:
    """What masks make of a model.

    Attributes:
        model: The pruned model.
        network: Its network.
        gates: What they multiply by zero.
        refused: What is masked and could not leave.
        measured: What it takes; RAM and ROM only where it is compiled.
        compiled: The compiled model, likewise.
    """

    model: onnx.ModelProto
    network: Network
    gates: Gates
    refused: tuple[Refusal, ...]
    measured: Mapping[Kind, float]
    compiled: CompiledVariant | None = None


@dataclass(frozen=True, eq=False)
class Subject:
    """A model that is to be pruned.

    Attributes:
        model: As prepared for the compiler.
        network: Its network.
        groups: What can be pruned, uniform.
        barred: What cannot.
        profile: Of the device.
    """

    model: onnx.ModelProto
    network: Network
    groups: tuple[ChannelGroup, ...]
    barred: tuple[ChannelGroup, ...]
    profile: Profile

    @classmethod
    def read(cls, path: Path, profile: Profile) -> Subject:
        """Read a model.

        Raises:
            SerenityError: The file is no ONNX model that can be compiled, or none of its channels can leave.
        """
        model, network = load(path)
        every = channel_groups(network)
        groups = uniform_groups(every)
        barred = tuple(group for group in every if not group.prunable)
        if not groups:
            why = "; ".join(dict.fromkeys(group.barriers[0] for group in barred[:3]))
            raise SerenityError(
                f"no channel can be removed: {why or 'it has no layer with weights outside of control flow'}",
                file=str(path),
            )
        return cls(model, network, groups, barred, profile)

    @property
    def inputs(self) -> tuple[TensorIO, ...]:
        """What the model takes."""
        tensors = [self.network.tensors[name] for name in self.network.inputs]
        return tuple(TensorIO(item.name, item.shape, item.dtype) for item in tensors)

    @property
    def gated(self) -> tuple[str, ...]:
        """Tensors that gates may be on."""
        sources = [name for group in self.groups for name in group.sources]
        return tuple(dict.fromkeys(gated_tensor(self.network, name) for name in sources))

    def estimate(self, kinds: Collection[Kind]) -> Estimate:
        """What variants take, RAM and ROM only where they are among `kinds`.

        Raises:
            SerenityError: Something has no constant size.
        """
        costs = CostModel(self.network, self.profile, self.groups)
        arena = ArenaModel(self.network, self.groups) if set(COMPILED) & set(kinds) else None
        return Estimate(costs, arena)

    def gates(self, masks: GroupMasks) -> Gates:
        """What masks multiply by zero."""
        return gates_of(self.network, masks, self.groups)

    def made(self, masks: GroupMasks) -> Made:
        """The model without what is masked, its costs measured on what is left."""
        gates = self.gates(masks)
        surgery = plan_removal(self.network, gates)
        model = apply(self.model, surgery)
        network = network_of(model)
        total = CostModel(network, self.profile).total()
        measured: dict[Kind, float] = {
            "macs": total.macs,
            "memory": total.memory,
            "energy": total.energy,
            "latency": total.latency,
        }
        return Made(model, network, gates, surgery.refused, measured)

    def compiled(self, made: Made, options: CompileOptions) -> Made:
        """The same, compiled, with the RAM and ROM that it takes.

        Raises:
            SerenityError: It cannot be compiled, or its RAM has no constant size.
        """
        compiled = compile_variant(made.model, options)
        measured: dict[Kind, float] = {"ram": compiled.ram, "rom": compiled.rom}
        return replace(made, compiled=compiled, measured={**made.measured, **measured})

    def layers(self, made: Made) -> list[reports.LayerCost]:
        """What each layer that is left takes, before and after."""
        before = CostModel(self.network, self.profile).by_layer()
        after = CostModel(made.network, self.profile).by_layer()
        return [
            reports.LayerCost(node, (cost.macs, after[node].macs), (cost.memory, after[node].memory))
            for node, cost in before.items()
            if node in after
        ]

    def stays(self, made: Made) -> list[reports.Stays]:
        """What could not leave, and why."""
        masked_only = [reports.Stays(item.tensor, len(item.channels), item.reason) for item in made.refused]
        barred = [reports.Stays(item.sources[0], item.size, item.barriers[0]) for item in self.barred]
        return [*masked_only, *barred]

    def channels_of(self, refused: Sequence[Refusal]) -> set[tuple[int, int]]:
        """The channels (group, channel) that refusals are about."""
        found: set[tuple[int, int]] = set()
        for group in self.groups:
            for member in group.members:
                if member.tensor not in group.sources:
                    continue
                gate = gated_tensor(self.network, member.tensor)
                for refusal in refused:
                    if refusal.tensor == gate and member.axis == self.network.channel_axes[gate]:
                        own = member.channels[list(refusal.channels)]
                        found |= {(group.id, int(channel)) for channel in own if channel >= 0}
        return found

    def prove(self, made: Made, data: Calibration) -> Verification:
        """Run the pruned model beside the masked one, op by op.

        Raises:
            CheckFailed: They differ.
        """
        pruned, reference = (
            engine(model, literal=True) for model in (made.model, masked(self.model, made.gates))
        )
        pairs = [(pruned(inputs), reference(inputs)) for inputs in data.batches(_PROOF_SAMPLES)]
        found = [compare(one, other, "the masked model") for one, other in pairs]
        worst = max(found, key=lambda item: (not item.passed, item.max_rel))
        if not worst.passed:
            raise CheckFailed(
                f"the pruned model differs from the masked one by {worst.max_abs:.3g}: nothing is written"
            )
        return worst
