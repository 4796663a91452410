"""`serenity-prune-channels`: masked channels leave the IR and its weights."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.torch_onnx.network import Function, apply, functions
from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.reform.gates import Gates, gate_axis
from serenity_mlir.reform.network import Network
from serenity_mlir.reform.removal import Surgery, plan_removal
from serenity_mlir.sizes import counted
from serenity_mlir.suggest import did_you_mean

GATE = "serenity.gate"
_SHOWN = 8


@dataclass(frozen=True)
class PruneChannelsPass(Pass[tuple[Surgery, ...]]):
    """Removes channels that gates multiply by zero, with the weights that only they need.

    Gates are attributes `serenity.gate = array<i1: …>` on the ops that make the tensors, one entry a channel,
    or come from a file. What is left computes what the function computes with those channels multiplied by
    zero; a channel that cannot leave is set to zero, and a remark says which op keeps it and why.
    """

    name: ClassVar[str] = "serenity-prune-channels"
    gates: Annotated[str, "JSON file: for the name of each node the list of channels it loses"] = ""
    constants: Annotated[bool, "also remove channels that hold one value in every run"] = False

    def apply(self, module: ir.Operation) -> tuple[Surgery, ...]:
        """Prune the functions of `module`; returns what was done in each."""
        wanted = _read(self.gates) if self.gates else {}
        found = list(functions(module))
        names = [name for function in found for name in function.network.by_name]
        unknown = sorted(wanted.keys() - set(names))
        if unknown:
            raise SerenityError(
                f"there is no node '{unknown[0]}'", file=self.gates, hint=_hint(unknown[0], names)
            )
        plans = []
        for function in found:
            gates = {**_attributes(function), **_chosen(function.network, wanted, self.gates)}
            plans.append((function, plan_removal(function.network, gates, constants=self.constants)))
        with module.context:
            for function, surgery in plans:
                for op in function.ops.values():
                    if GATE in op.attributes:
                        del op.attributes[GATE]
                self._say_what_stays(function, surgery)
                apply(function, surgery)
        return tuple(surgery for _, surgery in plans)

    def _say_what_stays(self, function: Function, surgery: Surgery) -> None:
        for item in surgery.refused:
            channels = ", ".join(map(str, item.channels))
            remark(
                function.values[item.tensor].owner.operation,
                f"{self.name}: channels {channels} of '{item.tensor}' stay, set to zero: {item.reason}",
            )


def _hint(wrong: str, names: list[str]) -> str:
    near = did_you_mean(wrong, names)
    some = f"nodes are named by their locations, else by their operators: {', '.join(names[:_SHOWN])}"
    rest = " …" if len(names) > _SHOWN else ""
    return f"{near} {some}{rest}" if near else f"{some}{rest}"


def _read(path: str) -> dict[str, list[int]]:
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"gates cannot be read: {error}", file=path) from error
    if not isinstance(content, dict) or not all(
        isinstance(item, list) and all(isinstance(channel, int) for channel in item)
        for item in content.values()
    ):
        raise UsageError("a file of gates holds an object of lists of channels", file=path)
    return content


def _chosen(network: Network, wanted: dict[str, list[int]], path: str) -> Gates:
    gates: dict[str, np.ndarray] = {}
    for name, channels in wanted.items():
        if name not in network.by_name:
            continue
        tensor = network.by_name[name].outputs[0]
        shape = network.shape(tensor)
        size = shape[gate_axis(network, tensor)] if shape else None
        if size is None or any(not 0 <= channel < size for channel in channels):
            made = "an unknown number of channels" if size is None else counted(size, "channel")
            raise SerenityError(
                f"the node makes {made}, and the gate asks for {channels}",
                file=path,
                where=f"node '{name}'",
            )
        gates[tensor] = np.ones(size, np.bool_)
        gates[tensor][channels] = False
    return gates


def _attributes(function: Function) -> Gates:
    """The gates written on ops."""
    gates = {}
    for name, op in function.ops.items():
        if GATE in op.attributes:
            attribute = op.attributes[GATE]
            if not isinstance(attribute, ir.DenseBoolArrayAttr):
                raise SerenityError(f"{GATE} is no array<i1: …>", where=f"node '{name}'")
            gates[function.network.by_name[name].outputs[0]] = np.array(list(attribute), np.bool_)
    return gates
