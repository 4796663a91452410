"""`serenity-layout-slices`: the smallest arena for every `stream.resource.pack`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from serenity_mlir.arena import check_plan, plan
from serenity_mlir.arena.result import ArenaPlan
from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.access import constant_index, is_resource, lifetime
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.regions import Region, functions, regions
from serenity_mlir.liveness import Slice, live_bytes
from serenity_mlir.time_shares import time_shares

PACK = "stream.resource.pack"
ALLOCA = "stream.resource.alloca"


@dataclass(frozen=True, slots=True)
class RegionPlan:
    """What became of one `stream.resource.pack`.

    Attributes:
        name: The execution region whose slices they are, `main#0`.
        role: "model" or "initializer".
        kind: "slab", or "results" for what leaves the region in one allocation.
        slices: As the op lists them, half-open, sizes aligned; empty where it was left alone.
        plan: Their offsets; None where it was left alone.
        peak: The most bytes live at once, recomputed from the op; 0 where it was left alone.
        left_alone: Why it was not planned; empty where it was.
    """

    name: str
    role: str
    kind: str
    slices: tuple[Slice, ...]
    plan: ArenaPlan | None
    peak: int
    left_alone: str = ""


@dataclass(frozen=True)
class LayoutSlicesPass(Pass[list[RegionPlan]]):
    """Replaces every `stream.resource.pack` by the constants of an optimal packing.

    Belongs after `iree-stream-schedule-allocation` and before IREE's own
    `iree-stream-layout-slices`. A pack with a slice of no constant size is left to IREE, with
    a remark that says so.
    """

    name: ClassVar[str] = "serenity-layout-slices"
    time_limit: Annotated[float, "seconds for all packs together"] = 5.0
    alignment: Annotated[int, "bytes; 0 takes the module's own"] = 0

    def apply(self, module: ir.Operation) -> list[RegionPlan]:
        """Plan and replace; what is left to IREE says why."""
        found = packs(module)
        shares = time_shares([len(pack.op.results) for pack in found], self.time_limit)
        return [self._plan(pack, share) for pack, share in zip(found, shares, strict=True)]

    def _plan(self, found: Pack, time_limit: float) -> RegionPlan:
        pack, name, role, kind = found.op, found.region.name, found.region.role, found.kind
        alignment = self.alignment or alignment_of(pack)
        slices = slices_of(pack, alignment)
        if slices is None:
            reason = "a slice has no constant size"
            remark(pack, f"left to IREE's own packing: {reason}")
            return RegionPlan(name, role, kind, (), None, 0, reason)
        result = plan(slices, alignment=alignment, time_limit=time_limit)
        check_plan(slices, result.offsets, result.size, alignment=alignment)
        peak = max(live_bytes(slices, max((item.end for item in slices), default=0)), default=0)
        replace_pack(pack, [result.size, *result.offsets])
        return RegionPlan(name, role, kind, tuple(slices), result, peak)


@dataclass(frozen=True, slots=True)
class Pack:
    """A `stream.resource.pack`, the first region that uses it, and what it allocates.

    `kind` is "slab" for the slices of that region alone, "results" for what leaves it in one
    allocation. A pack that no region uses goes by its function.
    """

    op: ir.Operation
    region: Region
    kind: str


def packs(module: ir.Operation) -> list[Pack]:
    """Every pack of the module's functions, in program order."""
    users: dict[ir.Value, tuple[Region, str]] = {}
    for region in regions(module, "stream.cmd.execute"):
        for operand in region.op.operands:
            base = _subview_base(operand)
            if not is_resource(operand) or isinstance(base.owner, ir.Block) or base.owner.name != ALLOCA:
                continue
            size = base.owner.operands[0]
            own = base == operand and lifetime(base) == "transient" and size not in users
            users[size] = (users.get(size, (region, ""))[0], "slab" if own else "results")
    found: list[Pack] = []
    for name, function in functions(module):
        role = "initializer" if function.name == "util.initializer" else "model"
        for op in _walk(function, PACK):
            region, kind = users.get(op.results[0], (Region(name, role, op), "unused"))
            found.append(Pack(op, region, kind))
    return found


def _subview_base(value: ir.Value) -> ir.Value:
    while not isinstance(value.owner, ir.Block) and value.owner.name == "stream.resource.subview":
        value = value.owner.operands[0]
    return value


def _walk(function: ir.Operation, name: str) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def collect(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name == name:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(collect, ir.WalkOrder.PRE_ORDER)
    return found


def slices_of(pack: ir.Operation, alignment: int) -> list[Slice] | None:
    """The slices that `pack` lists, sizes aligned; None where one has no constant size.

    The op's intervals are inclusive at both ends; a base offset makes it dynamic too.
    """
    intervals = [ir.IntegerAttr(item).value for item in ir.ArrayAttr(pack.attributes["lifetime_intervals"])]
    has_offset, _ = ir.DenseI32ArrayAttr(pack.attributes["operandSegmentSizes"])
    sizes = [constant_index(operand) for operand in list(pack.operands)[has_offset:]]
    if has_offset and constant_index(pack.operands[0]) != 0:
        return None
    slices = []
    for index, size in enumerate(sizes):
        if size is None:
            return None
        first, last = intervals[2 * index : 2 * index + 2]
        slices.append(Slice(first, last + 1, -(-size // alignment) * alignment))
    return slices


def replace_pack(pack: ir.Operation, values: Sequence[int]) -> None:
    """Replace the results of a `stream.resource.pack`, its size first, by constants."""
    index = ir.IndexType.get(pack.context)
    constants: dict[int, ir.Value] = {}
    with ir.InsertionPoint(pack):
        for value in values:
            if value not in constants:
                attribute = ir.IntegerAttr.get(index, value)
                op = ir.Operation.create(
                    "arith.constant", results=[index], attributes={"value": attribute}, loc=pack.location
                )
                constants[value] = op.results[0]
    for result, value in zip(pack.results, values, strict=True):
        result.replace_all_uses_with(constants[value])
    pack.erase()
