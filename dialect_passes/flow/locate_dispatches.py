"""`serenity-locate-dispatches`: a dispatch is where everything is that it computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.node_names import as_it_was, is_marked, leaves, with_nodes
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

_DISPATCHES = ("flow.dispatch.workgroups", "flow.dispatch.region")
_UPDATE, _RESHAPE = "flow.tensor.update", "flow.tensor.reshape"
# Ops that compute nothing: IREE shares constants and empty and filled tensors between dispatches, and moves
# loads and stores, so that their locations may be those of other nodes.
_IDLE = (
    "affine.apply",
    "arith.constant",
    "iree_tensor_ext.dispatch.tensor.load",
    "iree_tensor_ext.dispatch.tensor.store",
    "iree_tensor_ext.dispatch.workgroup_count_from_slice",
    "linalg.fill",
    "linalg.index",
    "tensor.dim",
    "tensor.empty",
)
_ENDS = (".yield", ".return")


@dataclass(frozen=True)
class LocateDispatchesPass(Pass[None]):
    """Adds to the location of each dispatch those of the ops inside, and of the concat that it writes into.

    Otherwise a dispatch has the location of one of them, often of an op that IREE shares with
    others, and after `flow` nothing tells which nodes of the model it runs: equal dispatches
    share one executable, whose body keeps the locations of one of them, and what a concat was is
    gone where its operands are written in place. Belongs after `dispatch-creation`. Locations get
    into compiled files, so `serenity-strip-dispatch-locations` takes it off again in phase `stream`.
    """

    name: ClassVar[str] = "serenity-locate-dispatches"

    def apply(self, module: ir.Operation) -> None:
        """Locate every dispatch of the module."""
        for op in nested_ops(module):
            if op.name in _DISPATCHES:
                places = _places(op) or {str(item): item for item in leaves(op.location)}
                places |= {str(item): item for value in op.results for item in _places_of_updates(value)}
                op.location = with_nodes(op.location, places.values())


@dataclass(frozen=True)
class StripDispatchLocationsPass(Pass[None]):
    """Takes off again what `serenity-locate-dispatches` added, so that IREE compiles what it would have."""

    name: ClassVar[str] = "serenity-strip-dispatch-locations"

    def apply(self, module: ir.Operation) -> None:
        """Put back the location of every op, of whatever IREE made of dispatches."""
        for op in nested_ops(module):
            if is_marked(op.location):
                op.location = as_it_was(op.location)


def _places(op: ir.Operation) -> dict[str, ir.Location]:
    """Where the ops inside are that compute, each place once; of one with a body, where the body's are."""
    found: dict[str, ir.Location] = {}
    for region in op.regions:
        for block in region.blocks:
            for item in block.operations:
                inner = item.operation
                if not inner.name.endswith(_ENDS) and inner.name not in _IDLE:
                    found |= _places(inner) or {str(leaf): leaf for leaf in leaves(inner.location)}
    return found


def _places_of_updates(value: ir.Value) -> Iterator[ir.Location]:
    """Where the tensor is that `value` is a part of, if that is all it is for."""
    uses = list(value.uses)
    if len(uses) == 1:
        user = uses[0].owner.operation
        if user.name == _UPDATE and uses[0].operand_number > 0:
            yield from leaves(user.location)
        elif user.name == _RESHAPE:
            yield from _places_of_updates(user.results[0])
