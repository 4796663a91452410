"""What each op of a `stream.async.execute` body reads, writes, allocates and ties.

The tables follow IREE's definitions of the stream dialect: a tied result lives in the
storage of its operand. An op that no table names is a barrier, and its results may share
storage with any of its operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serenity_mlir.dialect_passes.mlir import ir

_PURE_DIALECTS = ("arith", "affine", "util.align", "util.assume", "util.optimization_barrier", "math")
# Op → index of the operand that holds the size of its one result.
_FRESH = {
    "stream.async.alloca": 0,
    "stream.async.constant": 0,
    "stream.async.splat": 1,
    "stream.async.clone": 2,
    "stream.async.slice": 4,
    "stream.async.transfer": 2,
}
# Ops that write operand 0 in place and hand it on as their result.
_IN_PLACE = ("stream.async.fill", "stream.async.update", "stream.async.copy", "stream.async.store")
_READ_ONLY = ("stream.async.load",)
_DISPATCH = "stream.async.dispatch"
CONCURRENT = "stream.async.concurrent"
# Whether a kind of types is a resource: printing each type takes longer than all else in a graph.
_RESOURCES: dict[ir.TypeID, bool] = {}


@dataclass(frozen=True, slots=True)
class Result:
    """A resource result: tied to an operand, or fresh storage of `size` bytes.

    `size` is None where it is no constant; `tied` is the index of the op's operand.
    """

    value: ir.Value
    tied: int | None
    size: int | None


@dataclass(frozen=True, slots=True)
class Access:
    """How one op touches resources.

    Attributes:
        reads: Resource operands, those written in place included.
        results: Resource results.
        barrier: Whether nothing may move across the op.
    """

    reads: tuple[ir.Value, ...]
    results: tuple[Result, ...]
    barrier: bool

    @property
    def writes(self) -> bool:
        """Whether the op changes storage that existed before it."""
        return any(result.tied is not None for result in self.results)


def is_resource(value: ir.Value) -> bool:
    """Whether `value` is a `!stream.resource`."""
    kind = value.type
    found = _RESOURCES.get(kind.typeid)
    if found is None:
        found = _RESOURCES[kind.typeid] = str(kind).startswith("!stream.resource")
    return found


def lifetime(value: ir.Value) -> str:
    """`transient`, `external`, `constant`, `variable`, `staging` or `*`."""
    return str(value.type).removeprefix("!stream.resource<").removesuffix(">")


def constant_index(value: ir.Value) -> int | None:
    """The value of an `arith.constant` of index or integer type, else None."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def access_of(op: ir.Operation) -> Access:
    """What `op` touches; a barrier where the tables do not know it."""
    name = op.name
    reads = tuple(operand for operand in op.operands if is_resource(operand))
    if name in _FRESH:
        size = constant_index(op.operands[_FRESH[name]])
        return Access(reads, (Result(op.results[0], None, size),), barrier=False)
    if name in _IN_PLACE:
        return Access(reads, (Result(op.results[0], 0, None),), barrier=False)
    if name in _READ_ONLY:
        return Access(reads, (), barrier=False)
    if name == _DISPATCH:
        return Access(reads, tuple(_dispatch_results(op)), barrier=False)
    if not reads and not any(is_resource(result) for result in op.results):
        return Access((), (), barrier=not name.startswith(_PURE_DIALECTS) or bool(len(op.regions)))
    return Access(reads, tuple(_unknown_results(op)), barrier=True)


def _dispatch_results(op: ir.Operation) -> Iterator[Result]:
    """Ties count from the first resource operand; sizes are the last operand segment."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    first_resource, first_size = segments[0], sum(segments[:-1])
    ties = _tied_operands(op)
    for index, result in enumerate(op.results):
        if ties[index] >= 0:
            yield Result(result, first_resource + ties[index], None)
        else:
            yield Result(result, None, constant_index(op.operands[first_size + index]))


def _tied_operands(op: ir.Operation) -> list[int]:
    if "tied_operands" not in op.attributes:
        return [-1] * len(op.results)
    return [ir.IntegerAttr(item).value for item in ir.ArrayAttr(op.attributes["tied_operands"])]


def _unknown_results(op: ir.Operation) -> Iterator[Result]:
    for result in op.results:
        if is_resource(result):
            yield Result(result, None, None)


def only_writes(dispatch: ir.Operation, binding: int) -> bool:
    """Whether the functions of a dispatch declare a binding as written and never read.

    Bindings are counted from 0, scalars among the operands left out.

    An op says of a buffer that it is handed to write that it may read it, too.
    """
    module = dispatch
    while module.name != "builtin.module":
        module = module.parent.operation
    return all(
        _declared_write_only(module, ir.SymbolRefAttr(entry).value, binding)
        for entry in ir.ArrayAttr(dispatch.attributes["entry_points"])
    )


def _declared_write_only(module: ir.Operation, entry: list[str], binding: int) -> bool:
    table = ir.SymbolTable(module)
    if len(entry) != 2 or entry[0] not in table:
        return False
    for item in table[entry[0]].operation.regions[0].blocks[0].operations:
        if item.operation.name == "builtin.module":
            functions = ir.SymbolTable(item.operation)
            if entry[1] in functions:
                arguments = functions[entry[1]].operation.regions[0].blocks[0].arguments
                buffers = [item for item in arguments if str(item.type) == "!stream.binding"]
                users = [use.owner.operation for use in buffers[binding].uses]
                return bool(users) and all("<writeonly:" in str(user.results[0].type) for user in users)
    return False
