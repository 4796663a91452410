"""`serenity-pad-on-read`: no padded tensor is stored; its readers look whether they are inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from serenity_mlir.dialect_passes.flow.form_dispatch_regions import REGION, form
from serenity_mlir.dialect_passes.flow.guarded_read import Padding, padded_on_read
from serenity_mlir.dialect_passes.flow.interior import Box, box_of, interior_of
from serenity_mlir.dialect_passes.flow.slices import pads_constant, slice_with
from serenity_mlir.dialect_passes.linalg.macs import guarded_work
from serenity_mlir.dialect_passes.linalg.quantization import erase_dead, producer
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_sites
from serenity_mlir.dialect_passes.linalg.structured import Structured, structured
from serenity_mlir.dialect_passes.linalg.tensor_ops import padding
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops
from serenity_mlir.dialect_passes.tensors.tensor_types import tensor_bytes

PATTERN = "pad-on-read"

_EXPAND, _COLLAPSE = "tensor.expand_shape", "tensor.collapse_shape"


@dataclass(frozen=True)
class PadOnReadPass(Pass[list[str]]):
    """Lets convolutions and pools read what is not padded, and the constant outside of it.

    The padded tensor becomes an op in each reader's dispatch, of which IREE makes as much as a tile reads.
    It costs a comparison for each element of each tile. Belongs after
    `serenity-form-dispatch-regions`; what a region stores in the interior of a padded tensor is
    stored alone then. Integers stay bit-exact; floats may be summed in another order.
    """

    name: ClassVar[str] = "serenity-pad-on-read"

    def apply(self, module: ir.Operation) -> list[str]:
        """Rewrite every place that fits; returns the keys of the sites."""
        return apply_sites(module, find)


@dataclass(frozen=True, slots=True)
class _Padded:
    """A padded tensor.

    Attributes:
        made: The pad, or the region that puts what it computes into a filled tensor.
        box: Where the interior is.
        level: The constant around it.
    """

    made: ir.Operation
    box: Box
    level: ir.Attribute

    def alone(self) -> ir.Value:
        """What is in the interior, as a value of its own, which a region yields from now on."""
        if self.made.name != REGION:
            return self.made.operands[0]
        end = _last(self.made)
        inserted = producer(end.operands[0])
        if inserted is None:
            raise ValueError("yields nothing of its own")
        end.operands[0] = inserted.operands[0]
        self.made.results[0].set_type(inserted.operands[0].type)
        erase_dead(inserted)
        return self.made.results[0]


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Padded tensors, with a site where all readers are reductions or read the interior alone.

    Last ones first: a reader whose result only a pad reads is stored in that one's interior, if it is still
    there.
    """
    for op in reversed(list(nested_ops(module))):
        padded = _padded(op)
        if padded is None:
            continue
        readers, reason = _readers(padded)
        if reason is not None:
            yield Refusal(PATTERN, op, reason)
        elif readers:
            exact = all(_of_integers(reader.op) for reader in readers)
            work = sum(guarded_work(reader, op.results[0]) for reader in readers)
            yield Site(PATTERN, op, exact, partial(_unpad, padded), work)


def _padded(op: ir.Operation) -> _Padded | None:
    if pads_constant(op):
        made = producer(padding(op))
        return None if made is None else _Padded(op, interior_of(op), made.attributes["value"])
    if op.name != REGION or len(op.results) != 1:
        return None
    inserted = producer(_last(op).operands[0])
    if inserted is None or inserted.name != "tensor.insert_slice" or (box := box_of(inserted)) is None:
        return None
    around = producer(inserted.operands[1])
    level = producer(around.operands[0]) if around is not None and around.name == "linalg.fill" else None
    if level is None or level.name != "arith.constant":
        return None
    return _Padded(op, box, level.attributes["value"])


def _last(region: ir.Operation) -> ir.Operation:
    block = region.regions[0].blocks[0]
    return block.operations[len(block.operations) - 1].operation


def _readers(padded: _Padded) -> tuple[list[Structured], str | None]:
    """The reductions that read a padded tensor; and why it must be stored all the same, if so."""
    found: list[Structured] = []
    for use in padded.made.results[0].uses:
        user = use.owner.operation
        if _takes_interior(user, padded):
            continue
        reader = structured(user)
        if reader is None or use.operand_number == len(user.operands) - 1 or not len(user.regions):
            return [], f"is read by {user.name}"
        if not any(reader.is_reduction(loop) for loop in range(reader.loops)):
            return [], "is read by what is no reduction"
        if tensor_bytes(user.results[0].type) is None:
            return [], "is read by what has sizes that are no constants"
        if _overwrites(user, padded):
            return [], "is a copy of what its reader overwrites"
        found.append(reader)
    return found, None


def _takes_interior(user: ir.Operation, padded: _Padded) -> bool:
    return user.name == "tensor.extract_slice" and box_of(user) == padded.box


def _overwrites(reader: ir.Operation, padded: _Padded) -> bool:
    """Whether a reader's dispatch stores its result in the tensor that is padded.

    Without the copy, one workgroup would read what another has written.
    """
    if padded.made.name == REGION or reader.parent.name != REGION:
        return False
    into = producer(_last(reader.parent.operation).operands[0])
    return (
        into is not None
        and into.name == "tensor.insert_slice"
        and _storage(into.operands[1]) == _storage(padded.made.operands[0])
    )


def _storage(value: ir.Value) -> ir.Value:
    """What a tensor is a part of, or a later state of."""
    op = producer(value)
    if op is not None and op.name in ("tensor.extract_slice", "tensor.insert_slice"):
        return _storage(op.operands[0 if op.name == "tensor.extract_slice" else 1])
    if op is not None and op.name in (_EXPAND, _COLLAPSE):
        return _storage(op.operands[0])
    if op is not None and op.name == REGION and len(op.results) == 1:
        end = producer(_last(op).operands[0])
        if end is not None and end.name == "tensor.insert_slice" and end.parent == op:
            return _storage(end.operands[1])
    return value


def _of_integers(op: ir.Operation) -> bool:
    return isinstance(ir.RankedTensorType(op.results[0].type).element_type, ir.IntegerType)


def _unpad(padded: _Padded) -> None:
    whole = padded.made.results[0]
    around = Padding(padded.box.offsets, ir.RankedTensorType(whole.type).shape, padded.level)
    users = list(dict.fromkeys(use.owner.operation for use in whole.uses))
    alone = padded.alone()
    for user in users:
        if user.name == "tensor.extract_slice":
            user.results[0].replace_all_uses_with(alone)
            user.erase()
        else:
            _pad_for(user, whole, alone, around)
    if padded.made.name != REGION:
        erase_dead(padded.made)


def _pad_for(reader: ir.Operation, whole: ir.Value, alone: ir.Value, around: Padding) -> None:
    """Make a reduction's padded operand in its own dispatch."""
    with ir.InsertionPoint(reader), reader.location:
        made = padded_on_read(alone, around)
    for index, value in enumerate(list(reader.operands)):
        if value == whole:
            reader.operands[index] = made
    if reader.parent.name != REGION:
        form(slice_with(reader, made.owner.operation))
